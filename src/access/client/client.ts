import type { CertificateIdentity } from "../certificates.ts";
import type { ClientLocation } from "./client-location.ts";

/** What a host knows of whoever sends a request or a query. It is looked up when it is read, since most of it seldom is. */
export interface Client {
  /** The IP address of the socket; undefined where the host cannot tell. */
  readonly address: string | undefined;
  /** Whether the client showed a TLS certificate, and whether the host trusts it. */
  readonly certificate: "none" | "refused" | "verified";
  /** Whose certificate it is; absent unless it is verified. Reading it costs more than a query. */
  readonly certificateIdentity?: CertificateIdentity | undefined;
  /** Where the host says that the client is; absent where it knows nothing of that. */
  readonly location?: ClientLocation | undefined;
}

/** The certificate that a client showed. */
export type ClientCertificate = Partial<Pick<Client, "certificate" | "certificateIdentity">>;

/** A client and what it sent beside the query: an HTTP request, or a message of plain DNS, which has no header fields. */
export interface ClientRequest {
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null where it is absent. */
  header(name: string): string | null;
}
