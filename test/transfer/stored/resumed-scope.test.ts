import { describe, expect, it } from "vitest";
import type { ScopeState, TransferGateway } from "../../../src/transfer/primary.ts";
import { resumedScope } from "../../../src/transfer/stored/resumed-scope.ts";
import { StartingGateway } from "../../../src/transfer/stored/starting-gateway.ts";
import type { StoredGeneration } from "../../../src/transfer/stored/stored-generations.ts";

const meta = (expiresAt: number, generation = 1, pushedAt = 100) => ({
  ...{ generation, pushedAt, renewedAt: 200, expiresAt },
});
const compiled = (clusterId: string, generation = 1) => ({ clusterId, generation, exports: 2, imports: 1 });
const generation = { rootHash: "root" };

/** A scope with a stored generation of these clusters, at 10,000 ms; a change is behind after 1,000 ms. */
function open(
  clusters: readonly ReturnType<typeof compiled>[],
  metas: Record<string, ReturnType<typeof meta>>,
  isEverything = true,
) {
  const held = { now: 10_000 };
  const stored = { generation, generationBytes: 99, services: 5, keptAt: 7000, clusters };
  const scope = resumedScope(stored as unknown as StoredGeneration, {
    ...{ metas: () => new Map(Object.entries(metas)), mostBehind: 1000, isEverything },
    now: () => held.now,
  });
  return { held, scope };
}

describe("a stored generation is served", () => {
  it("while one of its clusters is live, to the millisecond", () => {
    const { scope } = open([compiled("east"), compiled("west")], { east: meta(5000), west: meta(10_001) });
    expect(scope.current(10_000)).toEqual({ generation });
    expect(scope.current(10_001)).toBeUndefined();
    const { scope: other } = open([compiled("east")], { north: meta(20_000) });
    expect(other.current(10_000)).toBeUndefined();
    expect(other.status()).toEqual({
      ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0, clusters: [] },
    });
  });

  it("with the clusters as they are stored now, by ascending id", () => {
    const { scope } = open([compiled("west"), compiled("east")], {
      west: meta(20_000),
      north: meta(20_000),
      east: meta(9_500),
    });
    expect(scope.status()).toEqual({
      ...{ ready: true, rootHash: "root", generationBytes: 99, services: 5 },
      clusters: [
        { clusterId: "east", ...meta(9_500), live: false, exports: 2, imports: 1 },
        { clusterId: "north", ...meta(20_000), live: false, exports: 0, imports: 0 },
        { clusterId: "west", ...meta(20_000), live: true, exports: 2, imports: 1 },
      ],
      behindSince: 100,
    });
  });

  it("in a scope without those that it does not have: whether they exist there is not known", () => {
    const { scope } = open([compiled("west")], { west: meta(20_000), north: meta(20_000) }, false);
    expect(scope.status().clusters.map(({ clusterId }) => clusterId)).toEqual(["west"]);
    expect(scope.status()).not.toHaveProperty("behindSince");
  });
});

describe("what is stored differs from the generation since", () => {
  const west = compiled("west");
  it.each<[string, Parameters<typeof open>, number | undefined]>([
    ["never where nothing has changed", [[west], { west: meta(20_000) }], undefined],
    ["it was kept, where a cluster left since", [[west, compiled("east")], { west: meta(20_000) }], 7000],
    ["a lease expired", [[west, compiled("east")], { west: meta(20_000), east: meta(8000) }], 8000],
    [
      "a lease expired just now, which is not yet behind",
      [[west, compiled("east")], { west: meta(20_000), east: meta(9000) }],
      undefined,
    ],
    [
      "a lease expired a little before that",
      [[west, compiled("east")], { west: meta(20_000), east: meta(8999) }],
      8999,
    ],
    ["a push that was not compiled", [[west], { west: meta(20_000, 2, 3000) }], 3000],
    ["a push of a cluster that is new", [[west], { west: meta(20_000), north: meta(20_000, 1, 4000) }], 4000],
    [
      "never for a new cluster whose lease has expired",
      [[west], { west: meta(20_000), north: meta(10_000, 1, 4000) }],
      undefined,
    ],
    [
      "the first of them",
      [[west, compiled("east")], { west: meta(20_000, 2, 3000), east: meta(2000) }],
      2000,
    ],
  ])("%s", (_, world, expected) => {
    expect(open(...world).scope.status().behindSince).toBe(expected);
  });
});

describe("a gateway that starts", () => {
  const scopeOf = (name: string) =>
    ({
      status: () => ({ rootHash: name }),
      current: (now: number) => ({ generation: `${name} at ${now}` }),
    }) as unknown as ScopeState;

  it("serves what is stored until it is open, in each scope", () => {
    const resumed = new Map([
      ["", scopeOf("stored")],
      ["west", scopeOf("stored west")],
    ]);
    const starting = new StartingGateway(["", "west", "east"], resumed);
    expect([...starting.scopes.keys()]).toEqual(["", "west", "east"]);
    expect(["", "west", "east", "unknown"].map((scope) => starting.serves(scope))).toEqual([
      ...[true, true, false, true],
    ]);
    expect(starting.status()).toEqual({ rootHash: "stored" });
    expect(starting.current(3)).toEqual({ generation: "stored at 3" });
    expect(starting.scopes.get("west")!.status()).toEqual({ rootHash: "stored west" });
    starting.open({
      ...scopeOf("compiled"),
      scopes: new Map([["east", scopeOf("compiled east")]]),
    } as TransferGateway);
    expect(["", "west", "east", "unknown"].map((scope) => starting.serves(scope))).toEqual([
      ...[true, true, true, true],
    ]);
    expect(starting.status()).toEqual({ rootHash: "compiled" });
    expect(starting.scopes.get("east")!.current(4)).toEqual({ generation: "compiled east at 4" });
    expect(starting.scopes.get("west")!.status()).toEqual({ rootHash: "stored west" });
  });
});
