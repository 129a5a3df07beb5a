import { describe, expect, it } from "vitest";
import type { ScopeTerms } from "../../../../src/gateway/doh-gateway.ts";
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
const TERMS: ScopeTerms = {
  expiresAt: new Map([["west", 1000]]),
  clusters: [WEST],
  behindSince: undefined,
};
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
    expect(changes.scopes.get("a")).toEqual({ root: undefined, serial: 0, ...TERMS });
    expect(changes.scopes.get("b")).toMatchObject({ root: { hash: first.rootHash }, serial: 7, ...TERMS });
    expect([added, dropped.size]).toEqual([hashesIn(first), 0]);
  });
});

describe("an update has a scope", () => {
  const terms = (more: Partial<ScopeTerms>): ScopeTerms => ({ ...TERMS, ...more });

  it.each<[what: string, change: { generation?: Generation | undefined; terms?: ScopeTerms }]>([
    ["a root", { generation: changed }],
    ["no root any more", { generation: undefined }],
    ["the same root with another serial", { generation: withSerial(first, 9) }],
    ["another time when a lease expires", { terms: terms({ expiresAt: new Map([["west", 1001]]) }) }],
    ["a lease that expired", { terms: terms({ expiresAt: new Map([["west", undefined]]) }) }],
    ["one cluster more", { terms: terms({ expiresAt: new Map([...TERMS.expiresAt, ["east", undefined]]) }) }],
    ["no cluster", { terms: terms({ expiresAt: new Map() }) }],
    ["another cluster", { terms: terms({ expiresAt: new Map([["east", 1000]]) }) }],
    ["a cluster that was seen", { terms: terms({ clusters: [{ ...WEST, renewedAt: 11 }] }) }],
    [
      "a cluster whose push is not in the answers",
      { terms: terms({ clusters: [{ ...WEST, live: false }] }) },
    ],
    ["a cluster that is whole again", { terms: terms({ clusters: [{ ...WEST, degraded: [] }] }) }],
    ["a change that is not in the answers", { terms: terms({ behindSince: 5 }) }],
  ])("that has %s, alone", (_, change) => {
    const { serves, update } = publisherOf("a", "b");
    for (const scope of [serves.a, serves.b]) scope.generation = first;
    update();
    expect(update()).toBeUndefined();
    Object.assign(serves.b, change);
    expect(update()!.scopes).toEqual(["b"]);
    expect(update()).toBeUndefined();
  });

  it("that knows another cluster whose lease expired, too", () => {
    const { serves, update } = publisherOf("a");
    serves.a.terms = terms({ expiresAt: new Map([["west", undefined]]) });
    update();
    serves.a.terms = terms({ expiresAt: new Map([["east", undefined]]) });
    expect(update()!.scopes).toEqual(["a"]);
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
