import type { Store } from "../../../config/store.ts";
import type { RedisAddress } from "../../../store/redis/connection.ts";
import { readToken } from "../access/token-file.ts";
import { readCertificates } from "../tls/tls.ts";

/**
 * Reads the files that the setting `store` names.
 * @throws {UsageError} naming the file that cannot be read, or has no password or no certificate
 */
export async function readEngineAddress({
  url,
  username,
  passwordFile,
  caFile,
}: Store): Promise<RedisAddress> {
  const [password, ca] = await Promise.all([
    passwordFile === undefined ? undefined : readToken(passwordFile),
    caFile === undefined ? undefined : readCertificates(caFile),
  ]);
  return { url, username, password, ca };
}
