import type { CertificateIdentity } from "../certificates.ts";
import type { ClientLocation } from "./client-location.ts";

/** What a host knows about the sender of a request or a query. Members are computed when they are read, since most seldom are. */
export interface Client {
  /** The IP address of the socket; undefined if the host does not know it. */
  readonly address: string | undefined;
  /** Whether the client has a TLS certificate, and whether the host trusts it. */
  readonly certificate: "none" | "refused" | "verified";
  /** The names in the certificate; absent unless it is verified. Reading them costs more than a query. */
  readonly certificateIdentity?: CertificateIdentity | undefined;
  /** Whether all requests of a connection have this very object. */
  readonly isOfConnection?: boolean;
  /** The client's location; absent if the host does not know it. */
  readonly location?: ClientLocation | undefined;
}

/** A client's certificate. */
export type ClientCertificate = Partial<Pick<Client, "certificate" | "certificateIdentity">>;

/** A client and the header fields beside its query; a message of plain DNS has none. */
export interface ClientRequest {
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null if it is absent. */
  header(name: string): string | null;
}
