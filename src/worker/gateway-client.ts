import type { Dispatcher } from "undici";
import { readAtMost } from "../dns/bounded-body.ts";
import { nextStep, openDispatcher } from "../outgoing/dispatcher.ts";
import { explainCertificate, GatewayError } from "./gateway-error.ts";
import { describeCauses } from "./object-source.ts";

/** Credentials and trust for a gateway. */
export interface GatewayAccess {
  /**
   * The bearer token, or a function that reads it again: a mounted Secret changes while a worker runs.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Reads the client certificate and its key in PEM again. */
  readonly clientCertificate?: (() => Promise<ClientCertificate>) | undefined;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  /** The name in the gateway's certificate. Default: that of its address. */
  readonly serverName?: string | undefined;
}

/** A certificate chain and its key, in PEM. */
interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A request to a gateway. */
export interface GatewayRequest
  extends Pick<Dispatcher.RequestOptions, "method" | "headersTimeout" | "bodyTimeout"> {
  /** Below the gateway's URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** One gateway, over kept-alive connections. */
export class GatewayClient {
  /** Scheme, host and path as messages show them. */
  readonly name: string;
  /** Requests so far by method and result: `PUT 200`, `PUT none` without a response. */
  readonly counts = new Map<string, number>();
  readonly #url: URL;
  /** The path of the URL. */
  readonly #base: string;
  readonly #access: GatewayAccess & { readonly allowH2: boolean };
  #pool: Dispatcher;
  /** The client certificate of the pool's connections. */
  #shown: ClientCertificate | undefined;

  constructor(url: URL, access: GatewayAccess & { readonly allowH2: boolean }) {
    this.#url = url;
    this.#base = url.pathname.replace(/\/+$/, "");
    // The token in a path is a secret.
    this.name = url.origin + this.#base.replace(/^\/tokens\/[^/]*/, "/tokens/…");
    this.#access = access;
    this.#pool = this.#connect();
  }

  /** Sends a request with the credentials, and counts it. @throws {GatewayError} without an answer */
  async send({ path, headers, content, ...request }: GatewayRequest): Promise<Dispatcher.ResponseData> {
    const { token, ca, serverName } = this.#access;
    const authorization = token !== undefined && `Bearer ${await this.#readToken(token)}`;
    await this.#showCertificate();
    try {
      const answer = await this.#pool.request({
        ...request,
        origin: this.#url.origin,
        path: this.#base + path,
        headers: { ...headers, ...(authorization && { authorization }) },
        body: content ?? null,
      });
      this.#count(request.method, answer.statusCode);
      return answer;
    } catch (cause) {
      this.#count(request.method, "none");
      const rejected = await explainCertificate(this.#url.origin, ca !== undefined, cause, serverName);
      if (rejected === undefined) throw this.#unreachable(cause);
      throw new GatewayError(rejected.message, { code: rejected.code, remedy: "person" }, cause);
    }
  }

  /** Reads the body of an answer; undefined if it is longer. @throws {GatewayError} if it cannot be read */
  async read(body: Dispatcher.ResponseData["body"], most: number) {
    try {
      return await readAtMost(body, most);
    } catch (cause) {
      throw this.#unreachable(cause);
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  #count(method: string, status: number | "none"): void {
    const key = `${method} ${status}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  #unreachable(cause: unknown): GatewayError {
    const message = `${this.name} cannot be reached: ${describeCauses(cause)}${nextStep(cause)}`;
    return new GatewayError(message, { code: "UNREACHABLE", remedy: "soon" }, cause);
  }

  #connect(): Dispatcher {
    const { ca, serverName, allowH2 } = this.#access;
    return openDispatcher(this.#url, {
      connections: 2,
      allowH2,
      tls: { ca, servername: serverName, ...this.#shown },
      timeout: 10_000,
      keepAliveTimeout: 60_000,
    });
  }

  /** Opens a new pool if the certificate changed; running requests finish on their connections. */
  async #showCertificate(): Promise<void> {
    const { clientCertificate } = this.#access;
    if (clientCertificate === undefined) return;
    let shown: ClientCertificate;
    try {
      shown = await clientCertificate();
    } catch (cause) {
      // The two files are not replaced atomically.
      if (this.#shown !== undefined) return;
      const message = `the client certificate for ${this.name} cannot be read: ${describeCauses(cause)}`;
      throw new GatewayError(message, { code: "CERTIFICATE_UNREADABLE", remedy: "person" }, cause);
    }
    if (shown.cert === this.#shown?.cert && shown.key === this.#shown.key) return;
    this.#shown = shown;
    const before = this.#pool;
    this.#pool = this.#connect();
    before.close().catch(() => undefined);
  }

  async #readToken(token: string | (() => string | Promise<string>)): Promise<string> {
    let text: string;
    try {
      text = (typeof token === "string" ? token : await token()).trim();
    } catch (cause) {
      const message = `the token for ${this.name} cannot be read: ${describeCauses(cause)}`;
      throw new GatewayError(message, { code: "TOKEN_UNREADABLE", remedy: "person" }, cause);
    }
    // RFC 6750 section 2.1; other characters could also be invalid in a header field.
    if (/^[A-Za-z0-9._~+/-]+=*$/.test(text)) return text;
    const message = `the token for ${this.name} is not a bearer token (RFC 6750): it is empty or contains characters other than letters, digits and -._~+/=`;
    throw new GatewayError(message, { code: "TOKEN_MALFORMED", remedy: "person" });
  }
}
