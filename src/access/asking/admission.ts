import type { AccessRefusal } from "../access-refused.ts";
import type { Audience } from "./audience.ts";

/** What everybody's own rule is called. */
export const EVERYBODY = "public";

/** A request that is answered, and as whose. */
export interface Admitted {
  /** The name of the rule that let it in; `public` for everybody. */
  readonly rule: string;
  readonly audience: Audience;
  /** The token in its path, taken away: what came before the path, and the URL without that. */
  readonly path?: { readonly prefix: string; readonly url: string } | undefined;
  /** Whether its host name holds a token. */
  readonly isByHost?: boolean | undefined;
}

/** A request that is not. */
export interface NotAdmitted {
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
