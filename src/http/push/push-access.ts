import { type AccessRefusal, AccessRefused } from "../../access/access-refused.ts";
import type { ClientCertificate } from "../../access/client/client.ts";
import type { PushAuthority } from "../../access/push-authority.ts";
import { PushFault } from "./push-fault.ts";

/** RFC 6750 section 3.1: 401 for a token that does not count, 403 for one that does and does not suffice. */
const ACCESS_STATUS: Readonly<Record<AccessRefusal, number>> = {
  TOKEN_REQUIRED: 401,
  UNKNOWN_TOKEN: 401,
  UNKNOWN_ISSUER: 401,
  UNKNOWN_KEY: 401,
  TOKEN_REFUSED: 401,
  TOKEN_EXPIRED: 401,
  WRONG_AUDIENCE: 401,
  UNKNOWN_SUBJECT: 403,
  CERTIFICATE_REFUSED: 401,
  UNKNOWN_CERTIFICATE: 403,
  OTHER_CLUSTER: 403,
  KEYS_UNAVAILABLE: 503,
};

const WITHOUT_TOKEN: ReadonlySet<AccessRefusal> = new Set(["TOKEN_REQUIRED", "CERTIFICATE_REFUSED"]);

/**
 * Whether a request may speak for a cluster, for hosts that hand pushes on as well.
 * @throws {PushFault} saying what is wrong with what the request shows
 */
export async function authorizePush(
  authority: PushAuthority,
  authorization: string | undefined,
  shown: ClientCertificate | undefined,
  clusterId: string,
): Promise<void> {
  try {
    await authority.authorize(authorization, shown, clusterId);
  } catch (error) {
    throw error instanceof AccessRefused ? accessFault(error) : error;
  }
}

function accessFault({ code, message }: AccessRefused): PushFault {
  const status = ACCESS_STATUS[code];
  const headers: Record<string, string> = {};
  if (status === 401)
    headers["www-authenticate"] =
      `Bearer realm="clusterset-doh"${WITHOUT_TOKEN.has(code) ? "" : ', error="invalid_token"'}`;
  if (status === 503) headers["retry-after"] = "30";
  return new PushFault(status, code, message, { headers });
}
