import type { IncomingMessage, RequestListener } from "node:http";
import { gunzipSync } from "node:zlib";
import type { DesiredLine } from "../../src/snapshot/desired-line.ts";
import type { PatchLine } from "../../src/snapshot/lines/patch-line.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { merged, patchOf } from "../snapshot/changes.ts";
import { LINES_TYPE, readAll } from "../snapshot/lines/push-lines.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { HttpDouble } from "./http-double.ts";

/** A request as it arrived; `bytes` is the size of the body after decompression. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: number;
  /** JSON; of lines the changes. */
  readonly body: unknown;
  /** What it reports of its worker. */
  readonly degraded?: unknown;
}

/** How a request fails: by an error status, or by a dropped connection. */
export type RequestError =
  | { readonly status: number; readonly code?: string; readonly headers?: Record<string, string> }
  | "drop"
  | "drop after taking it";

/** The content of a request, and what its first line or its body reports. */
function readContent(type: string | undefined, plain: Buffer): Pick<SeenRequest, "body" | "degraded"> {
  if (plain.length === 0) return { body: undefined };
  const isLines = type === LINES_TYPE;
  const head = JSON.parse(isLines ? plain.toString().split("\n", 1)[0]! : plain.toString());
  return {
    body: isLines ? readAll([plain]).map(({ change }) => change) : head,
    degraded: (head as { degraded?: unknown }).degraded,
  };
}

/** A small gateway with the push protocol that keeps all requests, and fails as tests ask. */
export class GatewayDouble extends HttpDouble {
  readonly seen: SeenRequest[] = [];
  readonly held = new Map<string, { generation: number; snapshot: ClusterSnapshot }>();
  /** Called before each request: how it fails. */
  error: (request: SeenRequest) => RequestError | undefined = () => undefined;
  /** Whether leases run. */
  isLive = true;
  /** The lines of the desired state; else none is there. */
  desired: readonly DesiredLine[] | undefined;
  /** Every answer waits for this promise. */
  answersAfter: Promise<unknown> = Promise.resolve();
  #generation = 0;

  readonly listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", async () => {
      const sent = Buffer.concat(parts);
      const plain = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
      const seen: SeenRequest = {
        method: request.method!,
        path: request.url!,
        headers: request.headers,
        bytes: plain.length,
        ...readContent(request.headers["content-type"], plain),
      };
      this.seen.push(seen);
      await this.answersAfter;
      const error = this.error(seen);
      if (error === "drop") return request.socket.destroy();
      if (typeof error === "object") {
        response.writeHead(error.status, { "content-type": "application/json", ...error.headers });
        return response.end(JSON.stringify({ code: error.code ?? "TEST", message: "as asked" }));
      }
      if (this.desired !== undefined && seen.path.includes("/desired"))
        return response.end(this.desired.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const [status, answer] = this.#take(seen);
      if (error === "drop after taking it") return request.socket.destroy();
      response.writeHead(status, { "content-type": "application/json" });
      return response.end(answer === undefined ? undefined : JSON.stringify(answer));
    });
  };

  /** `METHOD last-path-segment` of every request. */
  get verbs(): string[] {
    return this.seen.map(({ method, path }) => `${method} ${path.replace(/\?.*/, "").split("/").pop()}`);
  }

  #take({ method, path, body }: SeenRequest): [number, unknown?] {
    const [, clusterId, what] = /^\/api\/v1\/clusters\/([^/?]+)(?:\/(\w+))?/.exec(path) ?? [];
    if (clusterId === undefined) return [404, { code: "NOT_FOUND", message: path }];
    const held = this.held.get(clusterId);
    if (method === "GET") {
      if (held === undefined) return [404, { code: "UNKNOWN_CLUSTER", message: path }];
      return [200, { clusterId, generation: held.generation, live: this.isLive }];
    }
    const acknowledge = (snapshot: ClusterSnapshot): [number, unknown] => {
      const generation = ++this.#generation;
      this.held.set(clusterId, { generation, snapshot });
      return [200, { clusterId, generation, expiresAt: Date.now() + 60_000 }];
    };
    const { searchParams } = new URL(path, this.url);
    const mismatch = (): [number, unknown] => {
      const details = { currentGeneration: held?.generation ?? null };
      return [409, { code: "GENERATION_MISMATCH", message: "another generation is held", details }];
    };
    const after = searchParams.get("after");
    if (after !== null && held !== undefined && held.generation > Number(after)) return mismatch();
    const changes = body as PatchLine[];
    const apply = (to: ClusterSnapshot) =>
      acknowledge(parseSnapshot(changes.map(patchOf).reduce(merged, to)));
    if (method === "PUT") return apply(emptySnapshot(clusterId));
    const { generation } = body as { generation?: number };
    const baseGeneration = Number(searchParams.get("baseGeneration"));
    if (held === undefined || held.generation !== (what === "lease" ? generation : baseGeneration))
      return mismatch();
    if (what === "lease")
      return [200, { clusterId, generation: held.generation, expiresAt: Date.now() + 60_000 }];
    return apply(held.snapshot);
  }
}
