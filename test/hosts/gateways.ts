import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Agent, type Dispatcher, request } from "undici";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { type RunningGateway, startGateway } from "../../src/hosts/node/gateway-host.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { LINES_TYPE, snapshotBody } from "../snapshot/lines/push-lines.ts";
import type { PemPair } from "./client-certificates.ts";

/** A request to a gateway under test. */
export interface Sent {
  readonly method?: Dispatcher.HttpMethod;
  readonly token?: string;
  readonly json?: unknown;
  /** A push. */
  readonly lines?: string | Uint8Array;
  readonly message?: Uint8Array;
  readonly client?: PemPair;
  readonly http2?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Gateways of this process, each with a folder of its own; `close` stops and removes them all. */
export class Gateways {
  readonly #folders: string[] = [];
  readonly #running = new Map<string, RunningGateway>();

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-gateway-"));
    this.#folders.push(folder);
    return folder;
  }

  /** Starts a gateway whose main thread answers: each thread loads all code anew. Load makes no overload. */
  async start(folder: string, config: Readonly<Record<string, unknown>>): Promise<RunningGateway> {
    const file = join(folder, "config.json");
    const defaults = { listen: "127.0.0.1:0", stateDirectory: "state", threads: 0 };
    const limits = { loopDelayMilliseconds: 0, ...(config.limits as object | undefined) };
    writeFileSync(file, JSON.stringify({ ...defaults, ...config, limits }));
    const gateway = await startGateway(readServeConfig({ config: file }), pino({ level: "silent" }));
    this.#running.set(folder, gateway);
    return gateway;
  }

  async stop(folder: string): Promise<void> {
    await this.#running.get(folder)?.stop();
    this.#running.delete(folder);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((folder) => this.stop(folder)));
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true });
  }
}

/** Sends one request over a connection of its own. */
export async function send(gateway: RunningGateway, path: string, sent: Sent = {}) {
  const { method = "GET", token, json, lines, message, client, http2 = true, headers: more } = sent;
  const ca =
    gateway.certificateFile === undefined ? undefined : readFileSync(gateway.certificateFile, "utf8");
  const dispatcher = new Agent({ allowH2: http2, connect: { ...(ca !== undefined && { ca }), ...client } });
  try {
    const { statusCode, headers, body } = await request(gateway.url + path, {
      method,
      dispatcher,
      headers: {
        ...more,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(lines !== undefined && { "content-type": LINES_TYPE }),
        ...(message !== undefined && { "content-type": "application/dns-message" }),
      },
      body: json === undefined ? (lines ?? message ?? null) : JSON.stringify(json),
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    return { status: statusCode, headers, bytes, json: () => JSON.parse(bytes.toString()) };
  } finally {
    await dispatcher.destroy();
  }
}

/** Pushes a snapshot. @throws where it is not taken */
export async function push(gateway: RunningGateway, snapshot: ClusterSnapshot, token: string): Promise<void> {
  const path = `/api/v1/clusters/${snapshot.clusterId}/snapshot`;
  const { status, bytes } = await send(gateway, path, {
    method: "PUT",
    token,
    lines: snapshotBody(snapshot),
  });
  if (status !== 200) throw new Error(`${status} ${bytes}`);
}
