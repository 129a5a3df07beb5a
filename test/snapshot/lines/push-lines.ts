import { createHash } from "node:crypto";
import { encodeChanges, encodeSnapshot } from "../../../src/snapshot/lines/encode.ts";
import { LinesReader, type ReadLine } from "../../../src/snapshot/lines/lines-reader.ts";
import type { LineLimits } from "../../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";

/** The media type of a push. */
export const LINES_TYPE = "application/x-ndjson";

type Bytes = Uint8Array<ArrayBuffer>;

/** The body of a `PUT`: a snapshot, which may be wrong in any field. */
export function snapshotBody(snapshot: unknown): Bytes {
  return concat(encodeSnapshot(snapshot as ClusterSnapshot));
}

/** The body of a `PATCH`: a merge patch on the snapshot of a cluster, which may be wrong in any field. */
export function patchBody(clusterId: string, patch: object): Bytes {
  return concat(encodeChanges(clusterId, patch as Record<string, unknown>));
}

/** The path and query of a `PATCH` below `/api/v1/clusters/`. */
export function patchPath(clusterId: string, baseGeneration: number): string {
  return `${clusterId}/snapshot?baseGeneration=${baseGeneration}`;
}

/** The first line of a cluster's push. */
export function headerLine(clusterId: string, more: object = {}): string {
  return JSON.stringify({ formatVersion: 2, clusterId, ...more });
}

/** Texts as lines, with a last line that fits them. */
export function sealed(...given: readonly (string | readonly string[])[]): string {
  const texts = given.flat();
  const before = texts.map((text) => `${text}\n`).join("");
  const sha256 = createHash("sha256").update(before).digest("hex");
  return `${before}${JSON.stringify({ lines: texts.length, sha256 })}\n`;
}

/** The bytes of all pieces as one array. */
export function concat(pieces: Iterable<Uint8Array>): Bytes {
  return new Uint8Array(Buffer.concat([...pieces]));
}

/** Bytes in pieces that end at the given offsets. */
export function cutAt(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const ends = [...new Set([...offsets.filter((offset) => offset < bytes.length), bytes.length])];
  ends.sort((one, other) => one - other);
  return ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end));
}

/** Reads pieces to their end. */
export function readAll(pieces: Iterable<Uint8Array>, limits?: LineLimits): ReadLine[] {
  const reader = new LinesReader(limits);
  const lines = [...pieces].flatMap((piece) => [...reader.feed(piece)]);
  reader.finish();
  return lines;
}

/** What is sent to the push API: a snapshot, a delta on a generation, or a message as JSON. */
export type PushContent = object & {
  readonly clusterId?: unknown;
  readonly baseGeneration?: number | undefined;
  readonly generation?: number;
  readonly patch?: object;
};

/** A request of the push API, as `GatewayClient.http` takes it. */
export function pushed(
  method: string,
  path: string,
  content: PushContent,
  headers: Readonly<Record<string, string>> = {},
): [path: string, { method: string; headers: Record<string, string>; body: Buffer }] {
  const { patch, baseGeneration } = content;
  const isJson = method === "POST" || (patch === undefined && !("clusterId" in content));
  const type = { "content-type": isJson ? "application/json" : LINES_TYPE };
  const clusterId = /\/clusters\/([^/]+)/.exec(path)?.[1] ?? "";
  const body = isJson
    ? Buffer.from(JSON.stringify(content))
    : Buffer.from(patch === undefined ? snapshotBody(content) : patchBody(clusterId, patch));
  const query =
    patch === undefined ? "" : `${path.includes("?") ? "&" : "?"}baseGeneration=${baseGeneration}`;
  return [path + query, { method, headers: { ...type, ...headers }, body }];
}
