import { expect, it } from "vitest";
import { keysToJudge } from "../../../src/gateway/remembered/judged-keys.ts";
import { SeenCluster } from "../../../src/gateway/remembered/seen-cluster.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import { importing } from "../../merge/fixtures.ts";

it("an import that the cluster's worker made from the desired state keeps no place for a later one", () => {
  const judged = (parts: object) => [
    ...keysToJudge(heldSnapshot(importing("a", parts)), SeenCluster.unseen(1, 0)),
  ];
  expect(judged({ managed: true })).toEqual([{ table: "imports", key: "shop/web", isServed: false }]);
  expect(judged({})).toEqual([{ table: "imports", key: "shop/web", isServed: true }]);
});

it("an import that becomes one of the worker's loses its place", () => {
  const seen = SeenCluster.unseen(1, 0);
  seen.setImport("shop/web", 7);
  const judged = [...keysToJudge(heldSnapshot(importing("a", { managed: true })), seen)];
  expect(judged).toEqual([{ table: "imports", key: "shop/web", isServed: false }]);
});
