import type { JsonObject } from "../json-value.ts";
import type { Collection, SINGLES } from "../parse.ts";
import type { Report } from "../report.ts";

/** The version of the line format that this code reads and writes. */
export const LINES_FORMAT_VERSION = 2;

/** Media type of lines. */
export const NDJSON_TYPE = "application/x-ndjson";

/** An optional member of a snapshot that is one value. */
export type Single = (typeof SINGLES)[number];

/** The first line: of which cluster the lines are. */
export interface LinesHeader extends Report {
  readonly formatVersion: typeof LINES_FORMAT_VERSION;
  readonly clusterId: string;
}

/** An RFC 7396 merge patch on one entry, or on a single value; null removes it. */
export type EntryPatch = JsonObject | null;

/** A change of a snapshot: an RFC 7396 JSON merge patch on it, with the entries that change. */
export type SnapshotPatch = { readonly [key: string]: unknown };

/** A line between the first and the last: one change. */
export type PatchLine =
  | readonly [single: Single, patch: EntryPatch]
  | readonly [collection: Collection, key: string, patch: EntryPatch];

/** The last line: what came before it. */
export interface LinesEnd {
  /** Lines before this one. */
  readonly lines: number;
  /** SHA-256 of all bytes before this line, in hex. */
  readonly sha256: string;
}

/** Bounds on what is read. Every line that the encoder writes is within the defaults. */
export interface LineLimits {
  /** Bytes of a line. */
  readonly lineBytes: number;
  /** Members and elements of a line. */
  readonly lineValues: number;
  /** Levels of nesting in a line. */
  readonly lineLevels: number;
}

/**
 * A line that has them is parsed and validated within a few milliseconds. Kubernetes bounds the annotations
 * of an object to 256 KiB, which have at most twice as many bytes as JSON unless they have control
 * characters.
 */
export const DEFAULT_LINE_LIMITS: LineLimits = {
  lineBytes: 1024 * 1024,
  lineValues: 8192,
  lineLevels: 16,
};
