import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { CertificateIdentity } from "../../../access/certificates.ts";
import type { Client } from "../../../access/client.ts";
import { identityOf } from "./certificate-identity.ts";

/** The client of a request on Node; members are computed when they are read. */
export class NodeClient implements Client {
  readonly isOfConnection: boolean;
  readonly #socket: Socket;

  /** @param isOfConnection whether all requests of the connection have this object */
  constructor(socket: Socket, isOfConnection = false) {
    this.#socket = socket;
    this.isOfConnection = isOfConnection;
  }

  get address(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get certificate(): "none" | "refused" | "verified" {
    const socket = this.#socket as Partial<TLSSocket>;
    // Node 20 calls a resumed TLS 1.3 session authorized even if its client never had a certificate.
    if (socket.getPeerX509Certificate?.() === undefined) return "none";
    return socket.authorized === true ? "verified" : "refused";
  }

  get certificateIdentity(): CertificateIdentity | undefined {
    if (this.certificate !== "verified") return undefined;
    const certificate = (this.#socket as TLSSocket).getPeerX509Certificate();
    return certificate === undefined ? undefined : identityOf(certificate);
  }
}
