/** What a host knows of the connection that a request came by; Hono hands it on as the bindings. Read only where it counts. */
export interface Connection {
  /** The client's IP address as the socket has it; undefined where the host cannot tell. */
  readonly clientAddress: string | undefined;
  /** Whether the client showed a TLS certificate, and whether the host trusts it. */
  readonly clientCertificate: "none" | "refused" | "verified";
  /** A header field of the request, where the host has it at hand: a Headers object costs more than a look-up. */
  header(name: HotHeader): string | undefined;
}

/** The header fields that every query is looked at for. */
export type HotHeader = "accept" | "authorization" | "content-length" | "content-type";

/** A header field, by the shortest way that the host has. */
export function headerOf(
  request: Request,
  connection: Partial<Connection> | undefined,
  name: HotHeader,
): string | null {
  return connection?.header === undefined ? request.headers.get(name) : (connection.header(name) ?? null);
}

/** The environment of our Hono applications. A host that has no connections to speak of hands on none, as does `app.fetch(request)`. */
export interface ConnectionEnvironment {
  Bindings: Partial<Connection>;
}
