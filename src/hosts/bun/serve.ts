/**
 * `bun src/hosts/bun/serve.ts --config FILE`: the gateway on Bun, with the flags of `clusterset-doh serve`.
 */
import http from "node:http";
import { runProcess } from "../cli/program.ts";
import { type FetchRuntime, startFetchServer } from "../fetch-server.ts";

/** Bun's longest idle timeout, in seconds. */
const LONGEST_IDLE = 255;

/** Above every limit of the gateway, which rejects a longer body with a reason while it reads it. */
const MOST_BODY_BYTES = 2 ** 31;

/** Bun's own server: HTTP/1.1. */
const bunRuntime: FetchRuntime = {
  name: "Bun",
  listen({ hostname, port, tls, limits, respond }) {
    // Bun's servers take it from here, and have no setting of their own. In Node's types it is a constant.
    (http as { maxHeaderSize: number }).maxHeaderSize = limits.headerBytes;
    const server = Bun.serve({
      hostname,
      port,
      ...(tls !== undefined && { tls: { cert: tls.cert, key: tls.key } }),
      idleTimeout: Math.min(LONGEST_IDLE, limits.idleSeconds),
      maxRequestBodySize: MOST_BODY_BYTES,
      fetch: (request) => respond(request, server.requestIP(request)?.address),
    });
    return {
      port: server.port,
      stop: async (grace) => {
        const timer = setTimeout(() => void server.stop(true), grace);
        await server.stop();
        clearTimeout(timer);
      },
    };
  },
};

await runProcess(["serve", ...process.argv.slice(2)], startFetchServer(bunRuntime));

interface BunServer {
  readonly port: number;
  requestIP(request: Request): { readonly address: string } | null;
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** The part of Bun's API that the gateway uses (bun.com/docs/api/http). */
interface BunNamespace {
  serve(options: {
    readonly hostname: string;
    readonly port: number;
    readonly tls?: { readonly cert: string; readonly key: string };
    readonly idleTimeout: number;
    readonly maxRequestBodySize: number;
    readonly fetch: (request: Request) => Response | Promise<Response>;
  }): BunServer;
}

declare const Bun: BunNamespace;
