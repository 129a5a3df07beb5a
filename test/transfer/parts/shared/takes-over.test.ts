import { describe, expect, it } from "vitest";
import type { ClusterTerms } from "../../../../src/gateway/doh-gateway.ts";
import type { ClusterStatus } from "../../../../src/gateway/gateway-types.ts";
import { type Visibility, visibilityKey } from "../../../../src/merge/visibility/visibility.ts";
import { ScopePublisher } from "../../../../src/transfer/parts/shared/scope-publisher.ts";
import { SharedScopes, type SharedSource } from "../../../../src/transfer/parts/shared/shared-scopes.ts";
import type { SharedUpdate } from "../../../../src/transfer/parts/shared/shared-update.ts";
import { Generation, Trunk } from "../../../../src/zone/generation/generation.ts";
import { realStages } from "../../../gateway/real-stages.ts";
import { encodeQuery } from "../../../resolve/ask.ts";
import { compileSmall } from "../keeper-world.ts";

const QUERY = encodeQuery("web-1.shop.svc.clusterset.local", "A");
const AS_WEST: Visibility = { view: "west" };
const NOW = 1_700_000_000_000;
const first = compileSmall([], 7);
const WEST: ClusterStatus = {
  ...{
    clusterId: "west",
    generation: 1,
    pushedAt: NOW - 5000,
    renewedAt: NOW - 1000,
    expiresAt: NOW + 60_000,
  },
  ...{ live: true, exports: 3, imports: 0 },
};

const WITH_WEST: ClusterTerms = { expiresAt: WEST.expiresAt, status: WEST };

/** A thread that takes over what a publisher of two scopes says, and which generation it answers each query from. */
function openThread(source: Partial<SharedSource> = {}) {
  const serves: { generation: Generation | undefined; behindSince: number | undefined } = {
    ...{ generation: first, behindSince: undefined },
  };
  const clusters = new Map<string, ClusterTerms>([["west", WITH_WEST]]);
  const published = {
    current: () => serves.generation && { generation: serves.generation },
    terms: () => ({ clusters: new Map(clusters), behindSince: serves.behindSince }),
  };
  const publisher = new ScopePublisher(
    new Map([{}, AS_WEST].map((scope) => [visibilityKey(scope), published])),
  );
  const answered: { generation: Generation; stale: boolean }[] = [];
  const stages = realStages();
  const shared = new SharedScopes(
    {
      notReady: stages.notReady,
      resolve: (query, context) => {
        answered.push({ generation: context.generation, stale: context.stale });
        return stages.resolve(query, context);
      },
    },
    { receive: () => {}, isFresh: () => true, patience: () => new Promise(() => {}), ...source },
  );
  const update = () => structuredClone(publisher.changes(NOW)!) as SharedUpdate;
  const everything = shared.of({});
  /** What answers are from after the next update. */
  const taken = () => {
    shared.take(update());
    everything.answer(QUERY, undefined, NOW);
    return answered.at(-1)!.generation;
  };
  return { serves, clusters, shared, everything, answered, update, taken };
}

describe("a thread that takes over an update", () => {
  it("goes on with the same objects where only leases changed", () => {
    const { clusters, taken } = openThread();
    const before = taken();
    clusters.set("west", { ...WITH_WEST, expiresAt: NOW + 90_000 });
    expect(taken()).toBe(before);
  });

  it("has the new serial where nothing else changed", () => {
    const { serves, taken } = openThread();
    const before = taken();
    const { frame, stems, names, reverse } = first;
    serves.generation = new Generation(9, new Trunk(frame, stems), names, reverse);
    const after = taken();
    expect([before.serial, after.serial, after.rootHash]).toEqual([7, 9, first.rootHash]);
  });

  it("takes over the pages and the trunk that did not change", () => {
    const { serves, taken } = openThread();
    const before = taken();
    serves.generation = compileSmall([0], 8);
    const after = taken();
    expect(after.rootHash).toBe(serves.generation.rootHash);
    expect(after.reverse).toBe(before.reverse);
    const pagesOf = ({ names }: Generation) =>
      names.entries.flatMap(({ branch }) => (branch.kind === "page" ? [branch.page] : []));
    const pages = new Set(pagesOf(before));
    expect(pagesOf(after).length).toBeGreaterThan(1);
    expect(pagesOf(after)).not.toContain(undefined);
    const changed = pagesOf(after).filter((page) => !pages.has(page));
    expect(changed.length).toBeLessThanOrEqual(1);
  });

  it("has nothing of one whose root or pages lack, and says which part", () => {
    const { update } = openThread();
    const whole = update();
    const { root } = whole.scopes.get("")!;
    const pages = first.names.entries.flatMap(({ branch }) => (branch.kind === "page" ? [branch.hash] : []));
    const without = (hash: string) => ({ ...whole, added: whole.added.filter((part) => part.hash !== hash) });
    for (const [hash, message] of [
      [first.frame.hash, `a part of the root ${root!.hash} was not posted`],
      [first.names.hash, `a part of the root ${root!.hash} was not posted`],
      [pages[0]!, `the page ${pages[0]} was not posted`],
    ] as const) {
      const { shared, everything, answered } = openThread();
      expect(() => shared.take(without(hash))).toThrow(message);
      expect([everything.status().ready, answered]).toEqual([false, []]);
    }
  });

  it("is not ready again once names cannot be denied any more", () => {
    const { serves, shared, everything, answered, update, taken } = openThread();
    taken();
    serves.generation = undefined;
    shared.take(update());
    expect(everything.status().ready).toBe(false);
    everything.answer(QUERY, undefined, NOW);
    expect(answered).toHaveLength(1);
  });
});

describe("the gateway of a thread", () => {
  it("is ready with the root and the bytes of its generation, and counts no services", () => {
    const { everything, taken } = openThread();
    expect(everything.status()).toEqual({
      ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0, clusters: [] },
    });
    const { byteLength } = taken();
    expect(everything.status()).toEqual({
      ...{ ready: true, rootHash: first.rootHash, generationBytes: byteLength, services: 0 },
      clusters: [WEST],
    });
  });

  it("names the clusters and since when a change waits, as the thread that compiles does, also where names cannot be denied", () => {
    const { serves, clusters, everything, taken, shared, update } = openThread();
    serves.behindSince = NOW - 9000;
    taken();
    expect(everything.status()).toMatchObject({ ready: true, clusters: [WEST], behindSince: NOW - 9000 });
    clusters.set("west", { ...WITH_WEST, status: { ...WEST, live: false } });
    serves.generation = undefined;
    serves.behindSince = undefined;
    shared.take(update());
    expect(everything.status()).toEqual({
      ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0 },
      clusters: [{ ...WEST, live: false }],
    });
  });

  it("takes the updates that wait before each answer, and before it says which clusters there are", () => {
    const received: string[] = [];
    const { shared, everything, answered, update } = openThread({ receive: () => void received.push("") });
    shared.take(update());
    everything.answer(QUERY, undefined, NOW);
    expect(received).toHaveLength(1);
    expect([everything.hasCluster("west"), everything.hasCluster("east")]).toEqual([true, false]);
    expect([received.length, answered.length]).toEqual([3, 1]);
  });

  it("is waited for where it is the generation without a cluster that has expired", async () => {
    const { shared, clusters, serves, update } = openThread();
    shared.take(update());
    clusters.set("west", { ...WITH_WEST, expiresAt: undefined });
    shared.take(update());
    const everything = shared.of({});
    const waiting = everything.answer(QUERY, undefined, NOW);
    expect(waiting).toBeInstanceOf(Promise);
    serves.generation = compileSmall([1], 8);
    shared.take(update());
    expect(await waiting).toBeDefined();
    expect(everything.answer(QUERY, undefined, NOW)).not.toBeInstanceOf(Promise);
  });

  it("has the cluster of its view only", () => {
    const { shared, clusters, update } = openThread();
    clusters.set("east", { expiresAt: undefined, status: { ...WEST, clusterId: "east", live: false } });
    shared.take(update());
    const [everything, asWest] = [shared.of({}), shared.of(AS_WEST)];
    const known = () => ["west", "east"].map((id) => [everything.hasCluster(id), asWest.hasCluster(id)]);
    expect(known()).toEqual([
      [true, true],
      [true, false],
    ]);
    clusters.delete("east");
    shared.take(update());
    expect(known()).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it.each([
    [undefined, true, false],
    [5, true, true],
    [undefined, false, true],
    [5, false, true],
  ])("behind since %s, with a fresh thread: %s, answers as stale: %s", (behindSince, isFresh, stale) => {
    const { serves, answered, taken } = openThread({ isFresh: () => isFresh });
    serves.behindSince = behindSince;
    taken();
    expect(answered.at(-1)!.stale).toBe(stale);
  });
});
