import type { CertificateIdentity } from "../access/certificates.ts";
import type { ClientLocation } from "./client/client-location.ts";

/** What a host knows of the connection that a request came by; Hono hands it on as the bindings. Read only where it counts. */
export interface Connection {
  /** The client's IP address as the socket has it; undefined where the host cannot tell. */
  readonly clientAddress: string | undefined;
  /** Whether the client showed a TLS certificate, and whether the host trusts it. */
  readonly clientCertificate: "none" | "refused" | "verified";
  /** Whom a verified certificate is of; read only where it counts, since that costs more than a query. */
  readonly certificateIdentity?: CertificateIdentity | undefined;
  /** Where the host says that the client is; absent where it knows nothing of that. */
  readonly location?: ClientLocation | undefined;
}

/** The token in a request's URL that let it in: addresses of this gateway for the same client have to hold it, too. */
export interface UrlToken {
  /** What stands before the path, which the request does not have any more: `/tokens/<token>`; empty for a token in the host name. */
  readonly prefix: string;
}

/** The environment of our Hono applications. A host that has no connections to speak of hands on none, as does `app.fetch(request)`. */
export interface ConnectionEnvironment {
  Bindings: Partial<Connection> & { readonly urlToken?: UrlToken | undefined };
}
