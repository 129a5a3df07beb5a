import * as z from "zod";
import { parseSnapshot } from "../snapshot/parse.ts";
import { applyPatch, applyPatches, type SnapshotPatch } from "../snapshot/patch.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { ClusterMeta, StoredCluster } from "./store.ts";
import { messageOf } from "./store-error.ts";

const Meta = z.strictObject({
  generation: z.int(),
  pushedAt: z.number(),
  renewedAt: z.number(),
  expiresAt: z.number(),
  uptime: z.strictObject({ boot: z.string(), at: z.number() }).optional(),
});

const SnapshotRecord = z.strictObject({ meta: Meta, snapshot: z.unknown() });

const PatchRecord = z.strictObject({
  kind: z.literal("patch"),
  /** The generation that the patch builds on. */
  base: z.int(),
  meta: Meta,
  patch: z.record(z.string(), z.unknown()),
});

const LeaseRecord = z.strictObject({ kind: z.literal("lease"), meta: Meta });

const JournalRecord = z.discriminatedUnion("kind", [PatchRecord, LeaseRecord]);

/** What a journal holds: one delta or one renewal. */
export type JournalRecord = z.infer<typeof JournalRecord>;

/**
 * Reads a full snapshot as it was kept, with its meta; `value` is empty afterwards.
 * @throws {Error} saying why, when it is of another cluster or of another format.
 */
export function readSnapshotRecord(value: unknown, clusterId: string): StoredCluster {
  const { meta, snapshot } = SnapshotRecord.parse(value);
  const parsed = parseSnapshot(snapshot, { consume: true });
  if (parsed.clusterId !== clusterId) throw new Error(`it is of cluster "${parsed.clusterId}"`);
  return { meta, snapshot: parsed };
}

/** The meta of a renewal; undefined where the value is none. */
export function readLeaseRecord(value: unknown): ClusterMeta | undefined {
  return LeaseRecord.safeParse(value).data?.meta;
}

/** Records that were replayed, as far as they could be. */
export interface Replay {
  readonly cluster: StoredCluster;
  /** How many records were used; the rest is of no use. */
  readonly records: number;
  /** Why the rest is of no use; undefined where there is none. */
  readonly damage: string | undefined;
}

/** Replays the records of a journal on the snapshot that it follows, up to the first one that does not fit. */
export function replayRecords(base: StoredCluster, values: readonly unknown[]): Replay {
  const patches: { readonly patch: SnapshotPatch; readonly record: number }[] = [];
  const metas: ClusterMeta[] = [];
  let meta = base.meta;
  let damage: string | undefined;
  for (const [record, value] of values.entries()) {
    const parsed = JournalRecord.safeParse(value);
    const follows = parsed.success && generationBefore(parsed.data) === meta.generation;
    if (!follows) {
      damage = parsed.success ? "a record does not follow the one before it" : "a record has another format";
      break;
    }
    meta = parsed.data.meta;
    metas.push(meta);
    if (parsed.data.kind === "patch") patches.push({ patch: parsed.data.patch, record });
  }
  let records = metas.length;
  let snapshot: ClusterSnapshot;
  try {
    snapshot = applyPatches(
      base.snapshot,
      patches.map(({ patch }) => patch),
    );
  } catch {
    const stopped = applyWhileValid(base.snapshot, patches);
    ({ snapshot, damage } = stopped);
    records = stopped.records;
  }
  return { cluster: { meta: metas[records - 1] ?? base.meta, snapshot }, records, damage };
}

function generationBefore(record: JournalRecord): number {
  return record.kind === "patch" ? record.base : record.meta.generation;
}

function applyWhileValid(
  base: ClusterSnapshot,
  patches: readonly { readonly patch: SnapshotPatch; readonly record: number }[],
): { snapshot: ClusterSnapshot; records: number; damage: string } {
  let snapshot = base;
  for (const { patch, record } of patches) {
    try {
      snapshot = applyPatch(snapshot, patch);
    } catch (error) {
      return { snapshot, records: record, damage: `a delta is no longer valid: ${messageOf(error)}` };
    }
  }
  throw new Error("each delta is valid, all of them together are not");
}
