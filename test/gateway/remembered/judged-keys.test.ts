import { describe, expect, it } from "vitest";
import { isJudged, keysToJudge } from "../../../src/gateway/remembered/judged-keys.ts";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import type { HeldDelta } from "../../../src/snapshot/entry-changes.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import { exported, imported, snapshot } from "../../merge/fixtures.ts";

const held = heldSnapshot(
  snapshot("west", {
    namespaces: { shop: {} },
    exports: { "shop/web": exported(), "bank/web": exported() },
    imports: { "shop/db": imported(), "shop/own": imported({ managed: true }), "bank/db": imported() },
  }),
);
const seen = new SeenCluster({
  ...{ generation: 1, seenAt: 1, imports: new Map([["bank/old", 1]]) },
  exports: new Map([["shop/old", { reported: "2026-01-01T00:00:00Z", counts: 1 }]]),
});
const changed = (...entries: readonly (readonly [collection: string, key: string])[]): HeldDelta => ({
  entries: entries.map(([collection, key]) => ({ collection, key, entry: "{}" })) as never,
  singles: {},
});
const judged = (change?: HeldDelta) =>
  [...keysToJudge(held, seen, change)].map(({ table, key, isServed }) => `${table} ${key} ${isServed}`);

describe("what is judged of a cluster", () => {
  it("is everything that it has, or was seen with, where everything may have changed", () => {
    expect(judged()).toEqual([
      ...["exports shop/web true", "exports bank/web false", "exports shop/old false"],
      ...[
        "imports shop/db true",
        "imports shop/own false",
        "imports bank/db false",
        "imports bank/old false",
      ],
    ]);
  });

  it("are the exports and imports that changed", () => {
    expect(
      judged(changed(["exports", "shop/web"], ["pods", "shop/10.0.0.1"], ["imports", "shop/own"])),
    ).toEqual([...["exports shop/web true", "imports shop/own false"]]);
    expect(judged(changed(["exports", "shop/none"], ["imports", "shop/none"]))).toEqual([
      ...["exports shop/none false", "imports shop/none false"],
    ]);
    expect(judged(changed(["services", "shop/web"]))).toEqual([]);
  });

  it("is all that is in a namespace that came or went, and nothing of others", () => {
    expect(judged(changed(["namespaces", "bank"]))).toEqual([
      ...["exports bank/web false", "imports bank/db false", "imports bank/old false"],
    ]);
    expect(judged(changed(["namespaces", "shop"], ["exports", "bank/web"]))).toEqual([
      ...["exports bank/web false", "exports shop/web true", "exports shop/old false"],
      ...["imports shop/db true", "imports shop/own false"],
    ]);
  });

  it.each([
    ["exports", true],
    ["imports", true],
    ["namespaces", true],
    ["services", false],
    ["pods", false],
    ["findings", false],
  ])("a change of %s decides what is served: %s", (collection, expected) => {
    expect(isJudged({ collection, key: "a", entry: "{}" } as never)).toBe(expected);
  });
});
