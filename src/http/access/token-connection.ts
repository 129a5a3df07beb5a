import type { CertificateIdentity } from "../../access/certificates.ts";
import type { ClientLocation } from "../client/client-location.ts";
import type { Connection, UrlToken } from "../connection.ts";

/** A connection, with the token of the request that came by it. What the host knows is still looked up when it is asked for. */
export class TokenConnection implements Connection {
  readonly urlToken: UrlToken;
  readonly #connection: Partial<Connection>;

  constructor(connection: Partial<Connection>, urlToken: UrlToken) {
    this.urlToken = urlToken;
    this.#connection = connection;
  }

  get clientAddress(): string | undefined {
    return this.#connection.clientAddress;
  }

  get clientCertificate(): Connection["clientCertificate"] {
    return this.#connection.clientCertificate ?? "none";
  }

  get certificateIdentity(): CertificateIdentity | undefined {
    return this.#connection.certificateIdentity;
  }

  get location(): ClientLocation | undefined {
    return this.#connection.location;
  }
}
