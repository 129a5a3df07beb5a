import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Dispatcher } from "undici";
import { encodeChanges, encodeSnapshot } from "../snapshot/lines/encode.ts";
import { NDJSON_TYPE, type SnapshotPatch } from "../snapshot/lines/patch-line.ts";
import type { Report } from "../snapshot/report.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { type GatewayAccess, GatewayClient, type GatewayRequest } from "./gateway-client.ts";
import { GatewayError, rejectionOf } from "./gateway-error.ts";

/** What a request says of its cluster beside a state. */
export interface RequestTerms {
  readonly leaseSeconds: number;
  readonly report: Report;
}

/** The address of a gateway, credentials and trust. */
export interface GatewayOptions extends GatewayAccess {
  /** Base URL of the gateway, without `/api/v1`. */
  readonly gateway: string;
  /**
   * What the worker reads, by its name (docs/reference/push-api.md): a gateway rejects all but the one that
   * holds the lease. Default: it has none.
   */
  readonly instance?: (() => string | undefined) | undefined;
}

/** A request to the gateway. */
interface PushRequest
  extends Partial<SentBody>,
    Pick<GatewayRequest, "method" | "path" | "headersTimeout" | "bodyTimeout" | "signal"> {
  /** Of the content. */
  readonly type?: string;
}

/** What a gateway holds of a cluster. */
interface HeldState {
  readonly generation: number;
  /** Whether the lease runs; only in the answer to `status`. */
  readonly live?: boolean;
}

/** The push API of one gateway. */
export class GatewayRequests extends GatewayClient {
  readonly #instance: GatewayOptions["instance"];

  /** @throws {TypeError} if the gateway is not an http or https URL. */
  constructor({ gateway, instance, ...access }: GatewayOptions) {
    const url = new URL(gateway);
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw new TypeError(`the gateway must be an https URL, not ${gateway}`);
    // One request at a time gains nothing from HTTP/2: over HTTP/1.1 it is at the gateway's route 0.2 ms
    // sooner.
    super(url, { ...access, allowH2: false });
    this.#instance = instance;
  }

  /**
   * Sends a full snapshot.
   * @returns its generation
   * @param after the newest generation that is known: a gateway that holds a newer one rejects it. Default:
   * whatever is held is replaced
   * @throws {GatewayError}
   */
  async replace(
    snapshot: ClusterSnapshot,
    { leaseSeconds, report }: RequestTerms,
    signal: AbortSignal,
    after?: number,
  ): Promise<number> {
    const path = this.#path(snapshot.clusterId, "/snapshot", { leaseSeconds, after });
    const body = await packLines(() => encodeSnapshot(snapshot, report));
    return this.#acknowledged({ method: "PUT", path, type: NDJSON_TYPE, ...body, signal }, leaseSeconds);
  }

  /** Sends the changes since an acknowledged generation. @returns the new one @throws {GatewayError} */
  async patch(
    clusterId: string,
    baseGeneration: number,
    patch: SnapshotPatch,
    { leaseSeconds, report }: RequestTerms,
    signal: AbortSignal,
  ): Promise<number> {
    const path = this.#path(clusterId, "/snapshot", { baseGeneration, leaseSeconds });
    const body = await packLines(() => encodeChanges(clusterId, patch, report));
    return this.#acknowledged({ method: "PATCH", path, type: NDJSON_TYPE, ...body, signal }, leaseSeconds);
  }

  /** Renews the lease without a change. @returns the generation @throws {GatewayError} */
  renew(
    clusterId: string,
    generation: number,
    { leaseSeconds, report }: RequestTerms,
    signal: AbortSignal,
  ): Promise<number> {
    const path = this.#path(clusterId, "/lease", { leaseSeconds });
    const content = Buffer.from(JSON.stringify({ generation, ...report }));
    const request = { method: "POST", path, type: "application/json", content, signal } as const;
    return this.#acknowledged(request, leaseSeconds);
  }

  /** What the gateway holds of the cluster, and whether its lease runs. @throws {GatewayError} */
  status(clusterId: string, signal: AbortSignal): Promise<HeldState> {
    return this.#held({ method: "GET", path: this.#path(clusterId, "", {}), signal });
  }

  /** Removes the cluster from the clusterset. @param after as of `replace` @throws {GatewayError} */
  async leave(clusterId: string, signal: AbortSignal, after?: number): Promise<void> {
    await this.#request({ method: "DELETE", path: this.#path(clusterId, "", { after }), signal });
  }

  /**
   * Opens the stream of the cluster's desired state. One that is silent for half of the cluster's lease is an
   * error.
   * @param after the position to resume from
   * @throws {GatewayError}
   */
  async openDesired(
    clusterId: string,
    after: string | undefined,
    leaseSeconds: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    return this.#send({
      method: "GET",
      path: this.#path(clusterId, "/desired", { after }),
      headersTimeout: requestLimit(leaseSeconds, 0),
      bodyTimeout: silenceLimit(leaseSeconds),
      signal,
    });
  }

  /** The path of a cluster's resource, with the parameters that there are. */
  #path(
    clusterId: string,
    resource: string,
    parameters: Readonly<Record<string, string | number | undefined>>,
  ) {
    const all = Object.entries({ ...parameters, instance: this.#instance?.() });
    const stated = all.flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${encodeURIComponent(value)}`,
    );
    const path = `/api/v1/clusters/${encodeURIComponent(clusterId)}${resource}`;
    return stated.length === 0 ? path : `${path}?${stated.join("&")}`;
  }

  async #acknowledged(request: PushRequest, leaseSeconds: number): Promise<number> {
    const bytes = request.bytes ?? request.content?.length ?? 0;
    return (await this.#held(request, requestLimit(leaseSeconds, bytes))).generation;
  }

  /** Sends a request whose answer has the generation that the gateway holds. */
  async #held(request: PushRequest, most?: number): Promise<HeldState> {
    const text = await this.#request(request, most);
    try {
      const held = JSON.parse(text) as HeldState;
      if (Number.isInteger(held.generation)) return held;
    } catch {
      // Reported below, like an acknowledgement without a generation.
    }
    throw new GatewayError(
      `${this.name} answered 200 without an acknowledgement: is this a clusterset-doh gateway? ${text.slice(0, 200)}`,
      { status: 200, code: "NO_ACKNOWLEDGEMENT", remedy: "person" },
    );
  }

  /** Sends a request, and reads the answer. @param most milliseconds for both */
  async #request(request: PushRequest, most = LONGEST): Promise<string> {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(most)]);
    return this.#read(await this.#send({ ...request, signal }));
  }

  /**
   * Sends a request.
   * @returns the body of the answer
   * @throws {GatewayError} also for an answer that is not a 2xx
   */
  async #send({ type, isCompressed, bytes: _, ...request }: PushRequest) {
    const headers: Record<string, string> = {};
    if (type !== undefined) headers["content-type"] = type;
    if (isCompressed === true) headers["content-encoding"] = "gzip";
    const { statusCode: status, headers: fields, body } = await this.send({ ...request, headers });
    if (status >= 200 && status < 300) return body;
    const text = await this.#read(body);
    throw rejectionOf(this.name, status, text, readRetryAfter(fields["retry-after"]));
  }

  async #read(body: Dispatcher.ResponseData["body"]): Promise<string> {
    const bytes = await this.read(body, MOST_ANSWER_BYTES);
    return bytes === undefined ? "an answer of more than 1 MiB" : new TextDecoder().decode(bytes);
  }
}

/** A cluster's status has up to 100 conflicts and 100 findings. */
const MOST_ANSWER_BYTES = 1024 * 1024;

/** Milliseconds of the field Retry-After, at most 300 seconds; 0 without it. */
function readRetryAfter(field: string | string[] | undefined): number {
  const seconds = Number(field);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 300) * 1000 : 0;
}

/** Milliseconds. A large body may take long; nothing takes longer than that. */
const LONGEST = 60_000;
const SHORTEST = 5_000;
/** Bytes of a body that is sent within moments. */
const SMALL_BODY = 256 * 1024;

/**
 * Milliseconds after which a request counts as lost. Where packets get lost without a word, no other sign
 * comes: a lease is renewed after a third of it, so that a third is left for another attempt, on another
 * connection.
 */
export function requestLimit(leaseSeconds: number, bodyBytes: number): number {
  return bodyBytes > SMALL_BODY ? LONGEST : between((leaseSeconds * 1000) / 3);
}

/**
 * Milliseconds after which a silent stream of the desired state counts as lost. The gateway writes leases at
 * least every third of the shortest one, and the reader's own is among them.
 */
export function silenceLimit(leaseSeconds: number): number {
  return between((leaseSeconds * 1000) / 2);
}

function between(milliseconds: number): number {
  // Node takes whole milliseconds alone: `AbortSignal.timeout`.
  return Math.floor(Math.min(LONGEST, Math.max(SHORTEST, milliseconds)));
}

/** A request body as it is sent. */
interface SentBody {
  readonly content: Buffer;
  readonly isCompressed: boolean;
  /** Before it was compressed: the gateway reads as many. */
  readonly bytes: number;
}

/** Smaller bodies are sent as they are. */
const COMPRESS_FROM_BYTES = 1024;
/** Bytes that are compressed at once. */
const BLOCK_BYTES = 64 * 1024;
// The gateway rejects a body that grows more than 200 times when it is decompressed.
const MOST_RATIO = 150;

/**
 * Writes lines as a body, compressed if that makes it smaller. Lines are written one after the other: only
 * what is sent is in the memory.
 * @param lines called again if they are sent as they are
 */
async function packLines(lines: () => Iterable<Uint8Array>): Promise<SentBody> {
  const blocks = inBlocks(lines());
  const first = blocks.next();
  if (first.done) return { content: Buffer.alloc(0), isCompressed: false, bytes: 0 };
  const { length } = first.value;
  if (length < COMPRESS_FROM_BYTES) return { content: first.value, isCompressed: false, bytes: length };
  const gzip = createGzip();
  gzip.write(first.value);
  const [content] = await Promise.all([buffer(gzip), pipeline(blocks, gzip)]);
  const bytes = gzip.bytesWritten;
  if (content.length < bytes && content.length * MOST_RATIO > bytes)
    return { content, isCompressed: true, bytes };
  return { content: Buffer.concat([...lines()]), isCompressed: false, bytes };
}

function* inBlocks(lines: Iterable<Uint8Array>): Generator<Buffer> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for (const line of lines) {
    parts.push(line);
    bytes += line.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}
