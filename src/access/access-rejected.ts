/** Why a credential is rejected. The codes are stable: docs/reference/push-api.md lists them. */
export type AccessRejection =
  | "TOKEN_REQUIRED"
  | "UNKNOWN_TOKEN"
  | "UNKNOWN_ISSUER"
  | "UNKNOWN_KEY"
  | "TOKEN_REFUSED"
  | "TOKEN_TOO_LONG"
  | "TOKEN_EXPIRED"
  | "WRONG_AUDIENCE"
  | "UNKNOWN_SUBJECT"
  | "CERTIFICATE_REFUSED"
  | "UNKNOWN_CERTIFICATE"
  | "OTHER_CLUSTER"
  | "KEYS_UNAVAILABLE";

/** A request without a valid credential. The message has the next step and no secret. */
export class AccessRejected extends Error {
  readonly code: AccessRejection;

  /** The name of the request's credential; undefined if the gateway does not know it. */
  readonly credential: string | undefined;

  constructor(code: AccessRejection, message: string, credential?: string) {
    super(message);
    this.code = code;
    this.credential = credential;
  }
}
