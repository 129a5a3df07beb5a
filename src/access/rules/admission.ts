import type { AccessRefusal } from "../access-refused.ts";
import type { AccessRule } from "./access-rule.ts";

/** A request that a rule lets in. */
export interface Admitted {
  readonly rule: AccessRule;
  /** The token in its path, taken away: what came before the path, and the URL without that. */
  readonly path?: { readonly prefix: string; readonly url: string } | undefined;
  /** Whether its host name holds a token. */
  readonly isByHost?: boolean | undefined;
}

/** A request that none does. */
export interface NotAdmitted {
  readonly rule?: undefined;
  /** `missing` where it shows nothing, `unknown` where what it shows is not known. */
  readonly outcome: "missing" | "unknown";
  readonly status: 401 | 403 | 503;
  readonly code: AccessRefusal | "NOT_ADMITTED" | "CERTIFICATE_REQUIRED";
  /** For the client, with the next step. */
  readonly message: string;
  /** The WWW-Authenticate field of a 401 (RFC 9110 section 11.6.1). */
  readonly challenge?: string | undefined;
}

export type Admission = Admitted | NotAdmitted;
