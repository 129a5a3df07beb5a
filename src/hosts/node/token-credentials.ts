import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type ClusterCredential, type Credentials, createCredentials } from "../../http/credentials.ts";
import type { ServeConfig } from "../settings/serve-config.ts";
import { UsageError } from "../settings/usage-error.ts";

type Configured = ServeConfig["push"]["credentials"];

/** Whom the tokens of secondaries stand for, where those of workers stand for clusters. */
const SECONDARY = "secondary";

/** Credentials from the config; tokens in files may change while the gateway runs. */
export class TokenCredentials implements Credentials {
  readonly #configured: Configured;
  #digests = "";
  #current: Credentials = createCredentials([]);

  private constructor(configured: Configured) {
    this.#configured = configured;
  }

  /** @throws {UsageError} naming the token file that cannot be read or is empty */
  static async load(configured: Configured): Promise<TokenCredentials> {
    const credentials = new TokenCredentials(configured);
    await credentials.refresh();
    return credentials;
  }

  /** Those of secondaries. @throws {UsageError} naming the token file that cannot be read or is empty */
  static loadTransfer(configured: ServeConfig["transfer"]["credentials"]): Promise<TokenCredentials> {
    return TokenCredentials.load(configured.map((credential) => ({ clusterId: SECONDARY, ...credential })));
  }

  /**
   * Reads the token files again. What was read last stays in force where that fails.
   * @returns whether a token changed
   * @throws {UsageError} naming the token file that cannot be read or is empty
   */
  async refresh(): Promise<boolean> {
    const list = await Promise.all(this.#configured.map(readCredential));
    const digests = list.map(({ tokenSha256 }) => tokenSha256).join();
    if (digests === this.#digests) return false;
    this.#digests = digests;
    this.#current = createCredentials(list);
    return true;
  }

  clustersOf(authorization: string | undefined): Promise<ReadonlySet<string> | undefined> {
    return this.#current.clustersOf(authorization);
  }
}

async function readCredential({
  clusterId,
  tokenSha256,
  tokenFile,
}: Configured[number]): Promise<ClusterCredential> {
  if (tokenSha256 !== undefined) return { clusterId, tokenSha256 };
  const token = await readToken(tokenFile!);
  return { clusterId, tokenSha256: createHash("sha256").update(token).digest("hex") };
}

/**
 * Reads a token from a file; white space around it does not count.
 * @throws {UsageError} where there is none
 */
export async function readToken(file: string): Promise<string> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the token file: ${(error as Error).message}`);
  }
  const token = text.trim();
  if (token === "") throw new UsageError(`the token file ${file} is empty: clusterset-doh token > ${file}`);
  if (/\s/.test(token)) throw new UsageError(`the token file ${file} holds more than one word`);
  return token;
}
