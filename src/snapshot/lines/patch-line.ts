import type { JsonObject } from "../json-value.ts";
import type { Collection, SINGLES } from "../parse.ts";

/** The version of the line format that this code reads and writes. */
export const LINES_FORMAT_VERSION = 2;

/** Media type of lines. */
export const NDJSON_TYPE = "application/x-ndjson";

/** An optional member of a snapshot that is one value. */
export type Single = (typeof SINGLES)[number];

/** The first line: of which cluster the lines are. */
export interface LinesHeader {
  readonly formatVersion: typeof LINES_FORMAT_VERSION;
  readonly clusterId: string;
}

/** An RFC 7396 merge patch on one entry, or on a single value; null removes it. */
export type EntryPatch = JsonObject | null;

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
 * A merge patch of one entry has at most 1,000 members of each table (7,000 values), 1,000 ports in two places (8,000),
 * and some more. Kubernetes bounds the annotations of an object to 256 KiB, and JSON writes a character in at most 6 bytes.
 */
export const DEFAULT_LINE_LIMITS: LineLimits = {
  lineBytes: 2 * 1024 * 1024,
  lineValues: 16_384,
  lineLevels: 16,
};
