import { readSnapshotRecord, replayRecords } from "../replay.ts";
import type { StoredCluster } from "../store.ts";
import { decodeLines } from "./checksum-line.ts";

/**
 * Reads the file of a full snapshot.
 * @throws {Error} saying why, when it is torn, altered, of another cluster or of another format.
 */
export function readSnapshotFile(bytes: Buffer, clusterId: string): StoredCluster {
  const { values, whole } = decodeLines(bytes);
  if (values.length !== 1 || !whole) throw new Error("its checksum does not fit");
  return readSnapshotRecord(values[0], clusterId);
}

/** A journal that was replayed, as far as it could be. */
export interface JournalReplay {
  readonly cluster: StoredCluster;
  /** How many octets of the journal were used; the rest is of no use. */
  readonly goodBytes: number;
  /** Why the rest is of no use; undefined where there is none. */
  readonly damage: string | undefined;
}

/** Replays a journal on the snapshot that it follows, up to the first record that does not fit. */
export function replayJournal(base: StoredCluster, bytes: Buffer): JournalReplay {
  const { values, ends, whole } = decodeLines(bytes);
  const { cluster, records, damage } = replayRecords(base, values);
  return {
    cluster,
    goodBytes: ends[records - 1] ?? 0,
    damage: damage ?? (whole ? undefined : "a record is damaged"),
  };
}
