import type { Dispatcher } from "undici";
import { UsageError } from "../../config/values.ts";
import { readAtMost } from "../../dns/bounded-body.ts";
import { JSON_TYPE } from "../../http/messages/message.ts";
import { nextStep, openDispatcher } from "../../outgoing/dispatcher.ts";
import { explainCertificate } from "../../worker/gateway-error.ts";
import { readToken } from "../node/files.ts";
import { readCertificates } from "../node/tls.ts";
import { type GatewayFlags, identityOf, readGatewayUrl } from "./flags.ts";

/** Flags of commands that query a gateway. */
export interface ConnectionFlags extends GatewayFlags {
  readonly server?: string | undefined;
  /** The name in the gateway's certificate. Default: that of `server`. */
  readonly serverName?: string | undefined;
}

/** A request that a gateway did not answer with 200. */
export class RequestFailed extends Error {
  /** `UNREACHABLE`, a code of certificates, or the gateway's. */
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A response with status 200. */
interface GatewayResponse {
  readonly body: Buffer<ArrayBuffer>;
  readonly milliseconds: number;
}

const TIMEOUT = 10_000;
const MOST_BYTES = 16 * 1024 * 1024;

/** The gateway of a command that needs one. @throws {UsageError} */
export function requireServer({ server }: ConnectionFlags): string {
  if (server === undefined) throw new UsageError("name the gateway: --server https://doh.example:8443");
  return server;
}

/**
 * Connects to a gateway. Requests that it does not answer with 200 throw a {RequestFailed}.
 * @throws {UsageError} for an address, a certificate or a token file that is none
 */
export async function connectTo(server: string, flags: ConnectionFlags) {
  const url = readGatewayUrl("--server", server);
  const { caFile, tokenFile } = flags;
  const identity = identityOf(flags);
  const ca = caFile === undefined ? undefined : await readCertificates(caFile);
  const certificate = await identity?.();
  const token = tokenFile === undefined ? undefined : await readToken(tokenFile);
  // Other clients of DNS over HTTPS take the URL with this path.
  const prefix = url.pathname.replace(/\/+$/, "").replace(/\/dns-query$/, "");
  // The token in a path is a secret.
  const name = url.origin + prefix.replace(/^\/tokens\/[^/]*/, "/tokens/…");
  const { serverName: servername } = flags;
  const pool = openDispatcher(url, {
    connections: 1,
    tls: { ca, servername, ...certificate },
    timeout: TIMEOUT,
  });

  const request = async (
    method: Dispatcher.HttpMethod,
    path: string,
    fields: Readonly<Record<string, string>>,
    content: Uint8Array | null,
  ): Promise<GatewayResponse> => {
    const started = performance.now();
    let status: number;
    let body: Buffer<ArrayBuffer>;
    try {
      const response = await pool.request({
        origin: url.origin,
        method,
        path: prefix + path,
        body: content,
        signal: AbortSignal.timeout(TIMEOUT),
        headers: { ...fields, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      });
      status = response.statusCode;
      const read = await readAtMost(response.body, MOST_BYTES);
      if (read === undefined) throw new Error(`its answer is longer than ${MOST_BYTES} bytes`);
      body = Buffer.from(read.buffer);
    } catch (cause) {
      const rejected = await explainCertificate(url.origin, ca !== undefined, cause, servername);
      const { code = "UNREACHABLE", message } = rejected ?? {};
      throw new RequestFailed(
        code,
        message ?? `${name} cannot be reached: ${(cause as Error).message}${nextStep(cause)}`,
        {
          cause,
        },
      );
    }
    if (status === 200) return { body, milliseconds: Math.round(performance.now() - started) };
    throw failure(name, status, body.toString("utf8"));
  };
  return {
    /** Scheme, host and path, without the token in it. */
    name,
    get: (path: string, accept: string) => request("GET", path, { accept }, null),
    // Errors are JSON for clients that take it.
    post: (path: string, type: string, body: Uint8Array) =>
      request("POST", path, { accept: `${type}, ${JSON_TYPE};q=0.1`, "content-type": type }, body),
    close: () => pool.close(),
  };
}

function failure(name: string, status: number, text: string): RequestFailed {
  let [code, message] = [`HTTP_${status}`, text.trim().slice(0, 300)];
  try {
    const error = JSON.parse(text) as { code?: unknown; message?: unknown } | null;
    if (typeof error?.code === "string") code = error.code;
    if (typeof error?.message === "string") message = error.message;
  } catch {
    // From a gateway to a client that takes no JSON, or from a proxy: the message quotes its text.
  }
  return new RequestFailed(code, `${name} answered ${status} ${code}: ${message}`);
}
