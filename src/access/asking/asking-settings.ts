import type { CertificatePattern } from "../certificates.ts";
import type { ClientCertificate } from "../client/client.ts";
import type { Sha256 } from "../digests.ts";
import type { OidcCredential } from "../oidc.ts";
import type { Audiences } from "./audience.ts";

/** What is looked at of a request to find out who asks. */
export interface AskingRequest {
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** The host that was asked, with its port where there is one; empty where the client names none. */
  readonly host: string;
  readonly client: ClientCertificate | undefined;
  /** A header field by its name in lower case; null where it is absent. */
  header(name: string): string | null;
}

/** By what somebody is known as the one of a rule. Secrets are SHA-256 in hex. */
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

/** What an authority is put together from. */
export interface AskingSettings<Request extends AskingRequest> {
  readonly audiences: Audiences;
  readonly rules: readonly RuleCredentials[];
  /** In lower case, without a trailing dot. */
  readonly hostNames: readonly string[];
  /** Whether everybody's audience reads bearer tokens itself, as those of clusters that push. */
  readonly everybodyHasTokens: boolean;
  /** The client's own address. */
  readonly clientAddress: (request: Request) => string | undefined;
  /** Default: that of `crypto.subtle`. */
  readonly sha256?: Sha256;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}
