import { Writer } from "../../src/database/writer.ts";
import { isJsonObject } from "../../src/snapshot/json-value.ts";
import { LinesReader, type ReadLine } from "../../src/snapshot/lines/lines-reader.ts";
import type { PatchLine, SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { DRIVERS } from "../database/databases.ts";
import { patchLines, push, snapshotOf, wholeLines } from "../database/pushing.ts";
import { emptySnapshot } from "./worlds.ts";

/** RFC 7396, as its section 2 has it. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, unknown> = isJsonObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  return result;
}

/** A line as a patch of the whole snapshot. */
export function patchOf([name, ...rest]: PatchLine): SnapshotPatch {
  return { [name]: rest.length === 1 ? rest[0] : { [rest[0]]: rest[1] } };
}

/** Changes as a reader yields them; the first one is line 2. */
export function readLines(changes: Iterable<PatchLine>): ReadLine[] {
  return Array.from(changes, (change, index) => ({
    number: index + 2,
    change,
    text: `${JSON.stringify(change)}\n`,
    values: 0,
    hasPrototypeKey: false,
  }));
}

/** A database that has a snapshot. */
export function holding(snapshot: ClusterSnapshot) {
  const database = DRIVERS[0]![1]();
  const writer = new Writer(database, () => {});
  push(writer, snapshot.clusterId, "whole", wholeLines(snapshot));
  return { database, writer };
}

/** The snapshot after the lines of a patch, as a push has them. @throws {SnapshotError} */
export function applyPatch(base: ClusterSnapshot, patch: SnapshotPatch): ClusterSnapshot {
  return pushed(base, "changes", patchLines(base.clusterId, patch));
}

/** The snapshot that the pieces of a push have. @throws {LinesError} @throws {SnapshotError} */
export function readSnapshotLines(pieces: Iterable<Uint8Array>): ClusterSnapshot {
  const reader = new LinesReader();
  const lines = Array.from(pieces, (piece) => [...reader.feed(piece)]).flat();
  return pushed(emptySnapshot(reader.finish().clusterId), "whole", lines);
}

function pushed(base: ClusterSnapshot, kind: "whole" | "changes", lines: readonly ReadLine[]) {
  const { database, writer } = holding(base);
  try {
    push(writer, base.clusterId, kind, lines);
    return snapshotOf(writer.reader, base.clusterId);
  } finally {
    database.close();
  }
}

/** The error of this type that something throws. */
export function errorOf<Wrong extends Error>(
  type: new (...args: never[]) => Wrong,
  run: () => unknown,
): Wrong {
  try {
    run();
  } catch (error) {
    if (error instanceof type) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}
