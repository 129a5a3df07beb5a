import type { CertificateIdentity } from "../../access/certificates.ts";
import type { Client } from "../../access/client/client.ts";
import type { ClientLocation } from "../../access/client/client-location.ts";
import type { UrlToken } from "../environment.ts";

/** A client, with the token of the request that came by it. What the host knows is still looked up when it is asked for. */
export class TokenConnection implements Client {
  readonly urlToken: UrlToken;
  readonly #client: Partial<Client>;

  constructor(client: Partial<Client>, urlToken: UrlToken) {
    this.urlToken = urlToken;
    this.#client = client;
  }

  get address(): string | undefined {
    return this.#client.address;
  }

  get certificate(): Client["certificate"] {
    return this.#client.certificate ?? "none";
  }

  get certificateIdentity(): CertificateIdentity | undefined {
    return this.#client.certificateIdentity;
  }

  get location(): ClientLocation | undefined {
    return this.#client.location;
  }
}
