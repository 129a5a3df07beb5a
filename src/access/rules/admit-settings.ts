import type { CertificatePattern } from "../certificates.ts";
import type { ClientAddress, ClientRequest } from "../client.ts";
import type { Sha256 } from "../digests.ts";
import type { OidcCredential } from "../oidc.ts";
import type { AccessRules } from "../rule.ts";
import type { CredentialMemory } from "./credential-memory.ts";

/** The parts of a request that decide its rule. */
export interface ShownRequest extends ClientRequest {
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** The requested host, with its port if it has one; empty if the client names no host. */
  readonly host: string;
}

/** The credentials of a rule's clients. Secrets are SHA-256 in hex. */
export interface RuleCredentials {
  readonly name: string;
  readonly bearer?: readonly string[];
  readonly basic?: readonly { readonly username: string; readonly passwordSha256: string }[];
  readonly pathTokens?: readonly string[];
  readonly hostTokens?: readonly string[];
  readonly certificates?: readonly CertificatePattern[];
  readonly oidc?: readonly Omit<OidcCredential<unknown>, "holder">[];
  /** `10.0.0.0/8`, `::1`. */
  readonly addresses?: readonly string[];
}

/** The settings of admission. */
export interface AdmitSettings {
  readonly rules: AccessRules;
  readonly credentials: readonly RuleCredentials[];
  /** The gateway's host names, in lower case, without a trailing dot. */
  readonly hostNames: readonly string[];
  /** Whether the public rule accepts bearer tokens of clusters that push. */
  readonly publicHasTokens: boolean;
  /** Finds the client's real address. */
  readonly clientAddress: ClientAddress;
  /** Default: that of `crypto.subtle`. */
  readonly sha256?: Sha256;
  /** Of connections, as long as these credentials are valid. Default: nothing is remembered. */
  readonly memory?: CredentialMemory;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}
