import { describe, expect, it } from "vitest";
import type { ClusterTerms, ScopeTerms } from "../../../../src/gateway/doh-gateway.ts";
import type { ClusterStatus } from "../../../../src/gateway/gateway-types.ts";
import {
  type PublishedScope,
  ScopePublisher,
} from "../../../../src/transfer/parts/shared/scope-publisher.ts";
import { Generation, Trunk } from "../../../../src/zone/generation/generation.ts";
import { compileSmall, partsOf } from "../keeper-world.ts";

const WEST: ClusterStatus = {
  ...{ clusterId: "west", generation: 1, pushedAt: 5, renewedAt: 10, expiresAt: 1000 },
  ...{ live: true, exports: 1, imports: 0, degraded: [{ reason: "API_SERVER_UNREACHABLE", since: 7 }] },
};
const WITH_WEST: ClusterTerms = { expiresAt: 1000, status: WEST };
const TERMS: ScopeTerms = { clusters: new Map([["west", WITH_WEST]]), behindSince: undefined };
const first = compileSmall([], 7);
const changed = compileSmall([0, 1, 2], 8);

/** A generation with the same content and another serial, as two pushes leave one where the second undoes the first. */
function withSerial({ frame, stems, names, reverse }: Generation, serial: number): Generation {
  return new Generation(serial, new Trunk(frame, stems), names, reverse);
}

function hashesIn(generation: Generation): Set<string> {
  const { pages, segments } = partsOf(generation);
  const { rootHash, names, reverse, frame, stems } = generation;
  const top = [rootHash, ...[names, reverse, frame, stems].map(({ hash }) => hash)];
  return new Set([...top, ...pages.keys(), ...segments.keys()]);
}

/** A publisher of scopes that serve what the test says. */
function publisherOf<Name extends string>(...names: readonly Name[]) {
  const serves = Object.fromEntries(names.map((name) => [name, { terms: TERMS }])) as Record<
    Name,
    { generation?: Generation | undefined; terms: ScopeTerms }
  >;
  const scope = (name: Name): PublishedScope => ({
    current: () => {
      const { generation } = serves[name];
      return generation && { generation };
    },
    terms: () => serves[name].terms,
  });
  const publisher = new ScopePublisher(new Map(names.map((name) => [name, scope(name)])));
  const update = () => {
    const changes = publisher.changes(0);
    return (
      changes && {
        added: new Set(changes.added.map(({ hash }) => hash)),
        dropped: new Set(changes.dropped),
        scopes: [...changes.scopes.keys()],
        changes,
      }
    );
  };
  return { serves, publisher, update };
}

const minus = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
  new Set([...one].filter((hash) => !other.has(hash)));

describe("the first update", () => {
  it("has every scope: one without a generation has no root, and the serial 0", () => {
    const { serves, update } = publisherOf("a", "b");
    serves.b.generation = first;
    const { scopes, added, dropped, changes } = update()!;
    expect(scopes).toEqual(["a", "b"]);
    const facts = { ...TERMS, forgotten: [] };
    expect(changes.scopes.get("a")).toEqual({ root: undefined, serial: 0, ...facts });
    expect(changes.scopes.get("b")).toMatchObject({ root: { hash: first.rootHash }, serial: 7, ...facts });
    expect([added, dropped.size]).toEqual([hashesIn(first), 0]);
  });
});

function clusters(...known: readonly (readonly [clusterId: string, terms: ClusterTerms])[]): ScopeTerms {
  return { ...TERMS, clusters: new Map(known) };
}

describe("an update has a scope", () => {
  const west = (more: Partial<ClusterTerms>, status: Partial<ClusterStatus> = {}) => ({
    terms: clusters(["west", { ...WITH_WEST, ...more, status: { ...WEST, ...status } }]),
  });

  it.each<[what: string, change: { generation?: Generation | undefined; terms?: ScopeTerms }]>([
    ["a root", { generation: changed }],
    ["no root any more", { generation: undefined }],
    ["the same root with another serial", { generation: withSerial(first, 9) }],
    ["another time when a lease expires", west({ expiresAt: 1001 })],
    ["a lease that expired", west({ expiresAt: undefined })],
    ["one cluster more", { terms: clusters(...TERMS.clusters, ["east", WITH_WEST]) }],
    ["no cluster", { terms: clusters() }],
    ["another cluster", { terms: clusters(["east", WITH_WEST]) }],
    ["a cluster that was seen", west({}, { renewedAt: 11 })],
    ["a cluster whose push is not in the answers", west({}, { live: false })],
    ["a cluster that is whole again", west({}, { degraded: [] })],
    ["a change that is not in the answers", { terms: { ...TERMS, behindSince: 5 } }],
  ])("that has %s, alone", (_, change) => {
    const { serves, update } = publisherOf("a", "b");
    for (const scope of [serves.a, serves.b]) scope.generation = first;
    update();
    expect(update()).toBeUndefined();
    Object.assign(serves.b, change);
    expect(update()!.scopes).toEqual(["b"]);
    expect(update()).toBeUndefined();
  });

  it("with the clusters that changed, alone, and the ids of those that are not known any more", () => {
    const { serves, update } = publisherOf("a");
    const [north, later] = [{ ...WITH_WEST }, { ...WITH_WEST, expiresAt: 2000 }];
    serves.a.terms = clusters(...TERMS.clusters, ["east", WITH_WEST], ["north", north]);
    update();
    serves.a.terms = clusters(["south", WITH_WEST], ["east", later], ["north", north]);
    expect(update()!.changes.scopes.get("a")).toMatchObject({
      clusters: new Map([
        ["south", WITH_WEST],
        ["east", later],
      ]),
      forgotten: ["west"],
    });
  });
});

describe("a part", () => {
  it("is added and dropped once, where the last of several scopes has it no more", () => {
    const { serves, update } = publisherOf("a", "b");
    serves.a.generation = first;
    expect(update()!.added).toEqual(hashesIn(first));
    serves.b.generation = first;
    expect([update()!.added.size, update()]).toEqual([0, undefined]);
    serves.a.generation = undefined;
    expect(update()!.dropped.size).toBe(0);
    serves.b.generation = changed;
    const { added, dropped } = update()!;
    expect(added).toEqual(minus(hashesIn(changed), hashesIn(first)));
    expect(dropped).toEqual(minus(hashesIn(first), hashesIn(changed)));
  });

  it("that one scope loses and a later one gets in the same update stays: threads have it", () => {
    const { serves, update, publisher } = publisherOf("a", "b");
    serves.a.generation = first;
    update();
    serves.a.generation = undefined;
    serves.b.generation = first;
    const { added, dropped } = update()!;
    expect([added.size, dropped.size]).toEqual([0, 0]);
    expect(new Set(publisher.all().added.map(({ hash }) => hash))).toEqual(hashesIn(first));
  });

  it("that was dropped is added again with a scope that gets it later", () => {
    const { serves, update } = publisherOf("a");
    serves.a.generation = first;
    update();
    serves.a.generation = undefined;
    expect(update()!.dropped).toEqual(hashesIn(first));
    serves.a.generation = first;
    const { added, dropped } = update()!;
    expect([added, dropped.size]).toEqual([hashesIn(first), 0]);
  });
});

describe("the parts of a large change", () => {
  it("come some at a time, each once, and until all are there the state before is published", () => {
    const { serves, publisher, update } = publisherOf("a");
    update();
    serves.a.generation = first;
    const added: string[] = [];
    let expiresAt = 2000;
    for (const parts of publisher.newParts(0)) {
      expect(parts.length).toBeLessThanOrEqual(64);
      added.push(...parts.map(({ hash }) => hash));
      serves.a.terms = clusters(["west", { ...WITH_WEST, expiresAt: ++expiresAt }]);
      const { scopes, changes } = update()!;
      expect([scopes, changes.scopes.get("a")?.root]).toEqual([["a"], undefined]);
      added.push(...changes.added.map(({ hash }) => hash));
    }
    expect(expiresAt).toBeGreaterThan(2000);
    const { changes } = update()!;
    expect(changes.scopes.get("a")?.root?.hash).toBe(first.rootHash);
    added.push(...changes.added.map(({ hash }) => hash));
    expect(added.sort()).toEqual([...hashesIn(first)].sort());
  });

  it("that are few come with the state, and what is not used any more is dropped with it", () => {
    const { serves, publisher, update } = publisherOf("a");
    serves.a.generation = first;
    update();
    serves.a.generation = changed;
    expect([...publisher.newParts(0)]).toEqual([]);
    const { added, dropped } = update()!;
    expect(added).toEqual(minus(hashesIn(changed), hashesIn(first)));
    expect(dropped).toEqual(minus(hashesIn(first), hashesIn(changed)));
    expect([[...publisher.newParts(0)], update()]).toEqual([[], undefined]);
  });
});

describe("what a thread gets that starts", () => {
  it("is what was published until now, without what was dropped", () => {
    const { serves, update, publisher } = publisherOf("a", "b");
    serves.a.generation = first;
    update();
    serves.a.generation = changed;
    expect(publisher.all().scopes.get("a")!.root!.hash).toBe(first.rootHash);
    update();
    const all = publisher.all();
    expect([...all.scopes.keys()]).toEqual(["a", "b"]);
    expect(all.scopes.get("a")).toMatchObject({ root: { hash: changed.rootHash }, serial: 8 });
    expect(new Set(all.added.map(({ hash }) => hash))).toEqual(hashesIn(changed));
    expect(all.dropped).toEqual([]);
    for (const { bytes } of all.added) expect(bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
  });
});
