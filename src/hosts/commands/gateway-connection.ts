import { UsageError } from "../../config/values.ts";
import { JSON_TYPE } from "../../http/messages/message.ts";
import { GatewayClient } from "../../worker/gateway-client.ts";
import { GatewayError, readRejection } from "../../worker/gateway-error.ts";
import { type GatewayFlags, readAccess, readGatewayUrl } from "./flags.ts";

/** Flags of commands that query a gateway. */
export interface ConnectionFlags extends GatewayFlags {
  readonly server?: string | undefined;
  /** The name in the gateway's certificate. Default: that of `server`. */
  readonly serverName?: string | undefined;
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
 * Connects to a gateway. Requests that it does not answer with 200 throw a {GatewayError}.
 * @throws {UsageError} for an address, a certificate or a token file that is none
 */
export async function connectTo(server: string, flags: ConnectionFlags) {
  const url = readGatewayUrl("--server", server);
  // Other clients of DNS over HTTPS take the URL with this path.
  url.pathname = url.pathname.replace(/\/+$/, "").replace(/\/dns-query$/, "");
  const { serverName } = flags;
  const client = new GatewayClient(url, { ...(await readAccess(flags)), serverName, allowH2: true });
  const { name } = client;

  const request = async (
    method: "GET" | "POST",
    path: string,
    headers: Readonly<Record<string, string>>,
    content?: Uint8Array,
  ): Promise<GatewayResponse> => {
    const started = performance.now();
    const signal = AbortSignal.timeout(TIMEOUT);
    const { statusCode: status, body } = await client.send({ method, path, headers, content, signal });
    const bytes = await client.read(body, MOST_BYTES);
    if (bytes !== undefined && status === 200)
      return { body: Buffer.from(bytes.buffer), milliseconds: Math.round(performance.now() - started) };
    const text = bytes === undefined ? `more than ${MOST_BYTES} bytes` : new TextDecoder().decode(bytes);
    const { code, message } = readRejection(status, text);
    throw new GatewayError(`${name} answered ${status} ${code}: ${message}`, {
      status,
      code,
      remedy: "person",
    });
  };
  return {
    /** Scheme, host and path, without the token in it. */
    name,
    get: (path: string, accept: string) => request("GET", path, { accept }),
    // Errors are JSON for clients that take it.
    post: (path: string, type: string, body: Uint8Array) =>
      request("POST", path, { accept: `${type}, ${JSON_TYPE};q=0.1`, "content-type": type }, body),
    close: () => client.close(),
  };
}
