/** Why somebody is not known, or may not do what was asked. Stable: docs/reference/push-api.md lists them. */
export type AccessRefusal =
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

/** A request that shows nothing by which it is let in. The message tells the next step and holds no secret. */
export class AccessRefused extends Error {
  readonly code: AccessRefusal;

  /** The credential that was shown, where it is one of those that are known. */
  readonly credential: string | undefined;

  constructor(code: AccessRefusal, message: string, credential?: string) {
    super(message);
    this.code = code;
    this.credential = credential;
  }
}
