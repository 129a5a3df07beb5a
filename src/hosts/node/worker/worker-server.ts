import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "../../../config/values.ts";
import type { WorkerStatus } from "../../../sync/health/worker-status.ts";
import { listenFailure } from "../listen-failure.ts";
import { createWorkerMetrics } from "./worker-metrics.ts";
import { describeReadiness, isReady } from "./worker-readiness.ts";

const TEXT = "text/plain; charset=utf-8";
/** Milliseconds for the whole of a request, which has no body. */
const REQUEST_TIMEOUT = 5000;
/** Probes and Prometheus need a few. */
const MOST_CONNECTIONS = 64;

/** A running server of a worker. */
export interface WorkerServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` of a sync worker over HTTP in clear: they hold no secret and no name of a service.
 * @throws {UsageError} if it cannot listen on the address
 */
export async function startWorkerServer(
  listen: ListenAddress,
  status: () => WorkerStatus,
): Promise<WorkerServer> {
  const metrics = createWorkerMetrics(status);
  const answer = async (path: string): Promise<readonly [status: number, type: string, text: string]> => {
    if (path === "/healthz") return [200, TEXT, "ok\n"];
    if (path === "/metrics") return [200, metrics.contentType, await metrics.render()];
    if (path !== "/readyz") return [404, TEXT, "not found: /healthz, /readyz and /metrics are here\n"];
    const now = status();
    return [isReady(now) ? 200 : 503, TEXT, `${describeReadiness(now)}\n`];
  };
  const handle = async ({ method, url = "/" }: IncomingMessage, response: ServerResponse) => {
    response.setHeader("cache-control", "no-store");
    if (method !== "GET" && method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return;
    }
    const [code, type, text] = await answer(url.split("?", 1)[0]!);
    response.writeHead(code, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text);
  };
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT, headersTimeout: REQUEST_TIMEOUT },
    (request, response) => {
      handle(request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(listenFailure(error, listen)));
    server.listen({ port: listen.port, host: listen.host }, resolve);
  });
  server.on("error", () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
