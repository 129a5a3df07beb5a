import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../src/database/places.ts";
import type { Reader } from "../../src/database/reader.ts";
import { Writer } from "../../src/database/writer.ts";
import { Precedence } from "../../src/gateway/remembered/precedence.ts";
import { packRecord } from "../../src/gateway/remembered/recover.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { packDelta } from "../../src/snapshot/entry-changes.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { createMemoryRememberedStore } from "../../src/store/remembered/remembered-store.ts";
import { exported, imported, snapshot } from "../merge/fixtures.ts";
import { changesBetween } from "../snapshot/changes.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { DRIVERS } from "./databases.ts";
import { metaAt, NOON, patchLines, stage, wholeLines } from "./pushing.ts";

const MINUTE = 60_000;
const CLUSTERS = ["east", "west"];
const SERVICES = ["shop/db", "shop/web", "other/web"];

type Step =
  | { readonly does: "put" | "patch"; readonly who: string; readonly has: Has }
  | { readonly does: "renew" | "expire" | "leave"; readonly who: string }
  | { readonly does: "restart" }
  | { readonly does: "wait"; readonly minutes: number };

/** What a cluster has, with creation times in minutes before now. */
interface Has {
  readonly namespaces: readonly string[];
  readonly exports: readonly (readonly [name: string, ago: number])[];
  readonly imports: readonly (readonly [name: string, managed: boolean])[];
}

const who = fc.constantFrom(...CLUSTERS);
const has: fc.Arbitrary<Has> = fc.record({
  namespaces: fc.subarray(["shop", "other"]),
  exports: fc.uniqueArray(
    fc.tuple(fc.constantFrom(...SERVICES), fc.constantFrom(-9, -3, 0, 1, 4, 6, 90, 5_000_000)),
    { selector: ([name]) => name },
  ),
  imports: fc.uniqueArray(fc.tuple(fc.constantFrom(...SERVICES), fc.boolean()), {
    selector: ([name]) => name,
  }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom("put" as const, "patch" as const), who, has }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom("renew" as const, "expire" as const, "leave" as const),
      who,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ does: "restart" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("wait" as const),
      minutes: fc.constantFrom(1, 3, 7, 60, 1500, -4, -90),
    }),
  },
);

/** Today's precedence, as the gateway drives it. */
class Today {
  readonly #store = createMemoryRememberedStore();
  readonly held = new Map<string, ClusterSnapshot>();
  readonly #times = new Map<string, number>();
  #precedence!: Precedence;

  async restart(now: number): Promise<void> {
    const stored = Array.from(this.held, ([clusterId, held]) => ({
      clusterId,
      state: heldSnapshot(held),
      meta: metaAt(this.#times.get(clusterId)!),
      live: true,
    }));
    this.#precedence = await Precedence.open({
      store: this.#store,
      turns: { run: async (steps) => drain(steps) },
      onEvent: () => {},
      records: await this.#store.load(packRecord),
      stored,
      now,
    });
  }

  async push(next: ClusterSnapshot, now: number, generation: number): Promise<void> {
    const { clusterId } = next;
    const before = this.held.get(clusterId);
    const change = before && drain(packDelta(changesBetween(heldSnapshot(before), next)));
    const at = { now, live: before !== undefined, generation };
    drain(this.#precedence.see({ clusterId, state: heldSnapshot(next) }, at, change ?? "everything"));
    this.held.set(clusterId, next);
    this.#times.set(clusterId, now);
    await this.#precedence.save(clusterId);
  }

  async go(clusterId: string): Promise<void> {
    if (this.held.delete(clusterId)) await this.#precedence.parted(clusterId);
  }

  ranks(clusterId: string, kind: "exports" | "imports"): [name: string, counts: number][] {
    const nothing = { seenAt: 0, generation: 0, exports: {}, imports: {} };
    const ranks = Object.entries(this.#precedence.whole(clusterId, nothing)[kind]);
    return ranks.map(([name, rank]) => [name, typeof rank === "number" ? rank : rank![1]]);
  }
}

function ranksIn(reader: Reader): Today["ranks"] {
  return (cluster, kind) => {
    const rows = reader.all(cluster, kind === "exports" ? Kind.export : Kind.import);
    return Array.from(rows).flatMap(({ name, counts }) => (counts === null ? [] : [[name, counts]]));
  };
}

/** Who comes first, and since when to the second: milliseconds depend on how often something was looked at. */
function orders(ranks: Today["ranks"]): object {
  const all = (["exports", "imports"] as const).flatMap((kind) =>
    CLUSTERS.flatMap((cluster) =>
      ranks(cluster, kind).map(([name, counts]) => ({ kind, cluster, name, counts })),
    ),
  );
  const sorted = all.sort(
    (one, other) =>
      one.kind.localeCompare(other.kind) ||
      one.name.localeCompare(other.name) ||
      one.counts - other.counts ||
      one.cluster.localeCompare(other.cluster),
  );
  return sorted.map(({ counts, ...rank }) => ({ ...rank, second: Math.round(counts / 1000) }));
}

function snapshotWith(cluster: string, { namespaces, exports, imports }: Has, now: number): ClusterSnapshot {
  const at = (ago: number) => new Date(now - ago * MINUTE).toISOString();
  return snapshot(cluster, {
    namespaces: Object.fromEntries(namespaces.map((name) => [name, {}])),
    exports: Object.fromEntries(exports.map(([name, ago]) => [name, exported({ exportedAt: at(ago) })])),
    imports: Object.fromEntries(
      imports.map(([name, managed]) => [name, imported(managed ? { managed: true } : {})]),
    ),
  });
}

it("ranks are those of today, after whatever clusters, restarts and the clock do", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const database = DRIVERS[0]![1]();
      let writer = new Writer(database, () => expect.unreachable());
      const today = new Today();
      let now = NOON;
      let generation = 1;
      let latest = now;
      await today.restart(now);
      writer.start(now);
      for (const one of steps) {
        generation++;
        if (one.does === "wait") {
          now += one.minutes * MINUTE;
          latest = Math.max(latest, now);
        } else if (one.does === "restart") {
          // With a clock that was set back, today's forgets the latest time of ranks that are gone.
          if (now < latest) continue;
          await today.restart(now);
          writer = new Writer(database, () => expect.unreachable());
          writer.start(now);
        } else if (one.does === "expire" || one.does === "leave") {
          if (!today.held.has(one.who)) continue;
          await today.go(one.who);
          writer.apply({ kind: one.does === "leave" ? "departure" : "expiry", cluster: one.who });
        } else {
          const before = today.held.get(one.who);
          if (one.does === "renew" && before === undefined) continue;
          const next = "has" in one ? snapshotWith(one.who, one.has, now) : before!;
          const lines =
            one.does === "put" || before === undefined
              ? wholeLines(next)
              : patchLines(one.who, diffSnapshots(before, next) ?? {});
          const kind = one.does === "put" || before === undefined ? "whole" : "changes";
          const sight = { now, live: before !== undefined };
          await today.push(next, now, generation);
          writer.apply(
            writer.prepare(stage(writer.reader, one.who, kind, lines), metaAt(now, generation), sight),
          );
        }
        expect(orders(ranksIn(writer.reader))).toEqual(orders((id, kind) => today.ranks(id, kind)));
      }
      database.close();
    }),
    { numRuns: 1000 },
  );
});
