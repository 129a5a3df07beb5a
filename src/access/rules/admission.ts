import type { AccessRejection } from "../access-rejected.ts";
import type { AccessRule } from "./access-rule.ts";

/** A request that a rule admits. */
export interface Admitted {
  readonly rule: AccessRule;
  /** If its path has a token: the prefix with the token, and the URL without it. */
  readonly path?: { readonly prefix: string; readonly url: string } | undefined;
  /** Whether its host name has a token. */
  readonly isByHost?: boolean | undefined;
}

/** A request that no rule admits. */
export interface NotAdmitted {
  readonly rule?: undefined;
  /** `missing` without a credential, `unknown` with an unknown one. */
  readonly outcome: "missing" | "unknown";
  readonly status: 401 | 403 | 503;
  readonly code: AccessRejection | "UNKNOWN_PASSWORD" | "NOT_ADMITTED" | "CERTIFICATE_REQUIRED";
  /** For the client, with the next step. */
  readonly message: string;
  /** The WWW-Authenticate field of a 401 (RFC 9110 section 11.6.1). */
  readonly challenge?: string | undefined;
}

export type Admission = Admitted | NotAdmitted;
