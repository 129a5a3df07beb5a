import type { PatchLine } from "../../../src/snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../../../src/store/cluster-meta.ts";
import { fieldOf, lineOf } from "../../../src/store/redis/fields.ts";
import type {
  AddressOrders,
  FoundingDay,
  LogDraft,
  SharedCluster,
  Sight,
} from "../../../src/store/shared/shared-log.ts";
import { mergeInPlace } from "../../../src/store/snapshot-draft.ts";

/** A change that was taken, with all of its lines. */
export type Taken =
  | { readonly position: number; readonly id: string; readonly at: number; readonly draft: TakenDraft }
  | { readonly position: number; readonly id: string; readonly at: number; readonly orders: AddressOrders };

/** A draft whose lines are a list. */
export interface TakenDraft extends Omit<LogDraft, "change"> {
  readonly kind: LogDraft["change"]["kind"];
  readonly meta?: ClusterMeta | undefined;
  /** Of what left. */
  readonly generation?: number | undefined;
  readonly lines: readonly PatchLine[];
}

/** What the log has of a cluster. */
export interface HeldCluster {
  readonly id: string;
  readonly position: number;
  readonly meta: ClusterMeta | undefined;
  readonly gone: SharedCluster["gone"];
  /** When the lease was renewed, by the log's clock. */
  readonly renewedAt: number;
  /** Values as JSON, by field. */
  readonly values: ReadonlyMap<string, string>;
  readonly sight: Sight | undefined;
}

/** The state beside the log. */
export class HeldState {
  readonly clusters = new Map<string, HeldCluster>();
  readonly orders = new Map<string, readonly string[]>();
  founding: FoundingDay | undefined;

  /** Carries a change out. */
  take(taken: Taken): void {
    if ("orders" in taken) {
      for (const [address, order] of Object.entries(taken.orders))
        if (order === null) this.orders.delete(address);
        else this.orders.set(address, order);
      return;
    }
    const { draft, id, position, at } = taken;
    const before = this.clusters.get(draft.clusterId);
    const why = draft.kind === "left" || draft.kind === "expired" ? draft.kind : undefined;
    const isGone = why !== undefined;
    const last = before?.meta ?? before?.gone?.meta;
    const values = new Map(draft.kind === "snapshot" || isGone ? [] : before?.values);
    for (const line of draft.lines) {
      const field = fieldOf(line);
      const text = values.get(field);
      const patch = line.at(-1);
      if (patch === null) values.delete(field);
      else
        values.set(
          field,
          JSON.stringify(mergeInPlace(text && JSON.parse(text), JSON.parse(JSON.stringify(patch)))),
        );
    }
    const { meta } = draft;
    this.clusters.set(draft.clusterId, {
      ...{ id, position, meta, values },
      gone: why && { why, generation: draft.generation ?? last?.generation ?? 0, meta: last },
      renewedAt: isGone ? (before?.renewedAt ?? at) : at,
      sight: sightAfter(before?.sight, draft.sight),
    });
    this.founding = draft.founding ?? this.founding;
  }
}

/** All entries of a cluster, each in one line. */
export function linesOfCluster({ values }: HeldCluster): PatchLine[] {
  return [...values].map(([field, text]) => lineOf(field, JSON.parse(text)));
}

function sightAfter(before: Sight | undefined, change: Sight | undefined): Sight | undefined {
  if (change === undefined) return before;
  const { seenAt, generation } = change;
  const known = change.isWhole ? undefined : before;
  return {
    ...{ seenAt, generation },
    exports: ranksAfter(known?.exports, change.exports),
    imports: ranksAfter(known?.imports, change.imports),
  };
}

function ranksAfter<Rank>(
  before: Readonly<Record<string, Rank>> = {},
  change: Readonly<Record<string, Rank>>,
) {
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, rank]) => rank !== null));
}
