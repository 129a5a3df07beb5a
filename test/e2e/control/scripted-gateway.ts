import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import { kubeconfigOfControl } from "../harness/infra.ts";
import { type SyncProcess, startSync } from "../harness/processes.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

/**
 * A gateway over HTTP that takes every push, and gives workers the desired state that a test wrote: what a
 * hostile one could send.
 */
export interface ScriptedGateway {
  readonly url: string;
  readonly ca: "";
  /** Sends lines to the worker that follows now, and to each later one as a snapshot. */
  desire(lines: readonly DesiredLine[]): void;
  /** Requests for the desired state get no answer until `release`. */
  hold(): void;
  release(): void;
  /** How many of them wait. */
  readonly held: number;
  stop(): Promise<void>;
}

const LEASES = { leases: { a: 60, b: 60 } } as const;

/** Starts it on a free port of the loopback interface. */
export async function startScriptedGateway(): Promise<ScriptedGateway> {
  const following = new Set<ServerResponse>();
  let desired: readonly DesiredLine[] = [];
  let position = 0;
  let isHolding = false;
  const waiting = new Set<ServerResponse>();
  const write = (
    response: ServerResponse,
    start: "snapshot" | "changes" | undefined,
    lines: readonly object[],
  ) => {
    const begin = start === undefined ? [] : [{ start, formatVersion: 1 }];
    for (const line of [...begin, LEASES, ...lines, { position: String(position) }])
      response.write(`${JSON.stringify(line)}\n`);
  };
  const follow = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    following.add(response.on("close", () => following.delete(response)));
    write(response, "snapshot", desired);
  };
  const server = createServer((request, response) => {
    if (request.url?.includes("/desired") === true) {
      if (isHolding) return void waiting.add(response.on("close", () => waiting.delete(response)));
      return follow(response);
    }
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ generation: 1, expiresAt: Date.now() + 60_000 }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: "",
    desire(lines) {
      position++;
      desired = lines;
      // A new stream for each state, so that what is not in it is not desired.
      for (const response of following) response.end();
    },
    hold() {
      isHolding = true;
    },
    release() {
      isHolding = false;
      for (const response of waiting) follow(response);
      waiting.clear();
    },
    get held() {
      return waiting.size;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A worker of the cluster `b` that is a control plane and follows the gateway. */
export async function startWorkerOf(
  gateway: ScriptedGateway,
  server: ApiServer,
  { args = [], env = {} }: { args?: string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<SyncProcess> {
  const tokenFile = join(temporaryFolder("control"), "token");
  writeFileSync(tokenFile, "a-token\n");
  const kubeconfig = await kubeconfigOfControl(server);
  const gateways = [gateway as never];
  return startSync({ kubeconfig, clusterId: "b", gateways, tokenFile, args: ["--control", ...args], env });
}
