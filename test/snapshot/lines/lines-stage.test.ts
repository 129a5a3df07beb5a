import { expect, test } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { emptySnapshot, heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import { LinesStage } from "../../../src/snapshot/lines/lines-stage.ts";
import type { Collection } from "../../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { changeTables, linesOf } from "../changes.ts";
import { shopSnapshot } from "../worlds.ts";

function staged(snapshot: ClusterSnapshot, held: ClusterSnapshot): LinesStage {
  const stage = new LinesStage("whole", heldSnapshot(held));
  let number = 1;
  for (const change of linesOf(snapshot))
    drain(
      stage.apply({
        number: ++number,
        change,
        text: JSON.stringify(change),
        values: 0,
        hasPrototypeKey: false,
      }),
    );
  return stage;
}

test("a whole state that has every held entry is compared without a list of the held keys", () => {
  const held = shopSnapshot("west", 3);
  const asked: Collection[] = [];
  const counted = {
    ...heldSnapshot(held),
    keys: (collection: Collection) => {
      asked.push(collection);
      return Object.keys(held[collection]);
    },
    count: (collection: Collection) => Object.keys(held[collection]).length,
  };
  const delta = (snapshot: ClusterSnapshot) => drain(staged(snapshot, held).finish(counted));
  expect(delta({ ...held, pods: { "shop/10.0.0.1": {} } }).entries).toMatchObject([{ collection: "pods" }]);
  expect(asked).toEqual([]);
  const { exports: _, ...others } = held;
  expect(delta({ ...others, exports: {} }).entries).toEqual([
    { collection: "exports", key: "shop/web", entry: undefined },
  ]);
  expect(asked).toEqual(["exports"]);
});

test("the values of a whole state are those of its lines", () => {
  const snapshot = shopSnapshot("west", 2500);
  let put = emptySnapshot("west");
  for (const { path, value } of staged(snapshot, put).values())
    put = changeTables(
      put,
      path.length === 1
        ? { entries: [], singles: { [path[0]!]: value } }
        : { entries: [{ collection: path[0], key: path[1], entry: value } as never], singles: {} },
    );
  expect(put).toEqual(snapshot);
});
