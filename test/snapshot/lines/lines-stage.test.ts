import { describe, expect, test } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { emptySnapshot, heldSnapshot, NOTHING_HELD } from "../../../src/snapshot/lines/held-state.ts";
import type { LinesStage } from "../../../src/snapshot/lines/lines-stage.ts";
import type { PatchLine } from "../../../src/snapshot/lines/patch-line.ts";
import type { Collection } from "../../../src/snapshot/parse.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { SnapshotError } from "../../../src/snapshot/snapshot-error.ts";
import { applyLines, changeTables, linesOf, readLines, stageLines } from "../changes.ts";
import { headlessExport, shopSnapshot } from "../worlds.ts";

const staged = (snapshot: ClusterSnapshot, held: ClusterSnapshot): LinesStage =>
  stageLines("whole", heldSnapshot(held), readLines(linesOf(snapshot)));

/** Changes that were read, of any form. */
const linesFrom = (changes: readonly unknown[]) => readLines(changes as PatchLine[]);

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

const namespaces = (count: number): ClusterSnapshot => ({
  ...emptySnapshot("west"),
  namespaces: Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, {}])),
});

describe("a whole state", () => {
  test("is compared in steps of 16 of its entries, and of 256 held ones that it lacks", () => {
    expect([...staged(namespaces(100), emptySnapshot("west")).finish()]).toHaveLength(6);
    expect([...staged(emptySnapshot("west"), namespaces(600)).finish()]).toHaveLength(2);
  });

  test("has no lines to keep, unlike changes: its entries are its own", () => {
    const changes = [...linesOf(namespaces(3))];
    expect([...staged(namespaces(3), emptySnapshot("west")).lines()]).toEqual([]);
    expect([...stageLines("changes", NOTHING_HELD, readLines(changes)).lines()]).toEqual(changes);
  });

  test("changes what differs from the state that is held when it ends", () => {
    const stage = staged(namespaces(3), emptySnapshot("west"));
    expect(drain(stage.finish()).entries).toHaveLength(3);
    expect(drain(stage.finish(heldSnapshot(namespaces(2)))).entries).toEqual([
      { collection: "namespaces", key: "n2", entry: {} },
    ]);
    expect(drain(stage.finish(heldSnapshot(namespaces(4)))).entries).toEqual([
      { collection: "namespaces", key: "n3", entry: undefined },
    ]);
  });

  test("removes single values that it lacks, and has those that differ", () => {
    const [eu, us] = [{ region: "eu" }, { region: "us" }];
    const of = (topology?: object): ClusterSnapshot => ({
      ...emptySnapshot("west"),
      ...(topology && { topology }),
    });
    const singles = (to: ClusterSnapshot, held: ClusterSnapshot) =>
      applyLines(heldSnapshot(held), linesOf(to), "whole").singles;
    expect(singles(of(), of(eu))).toEqual({ topology: undefined });
    expect(Object.keys(singles(of(), of(eu)))).toEqual(["topology"]);
    expect(singles(of(us), of(eu))).toEqual({ topology: us });
    expect(Object.keys(singles(of(eu), of(eu)))).toEqual([]);
    expect(Object.keys(singles(of(), of()))).toEqual([]);
  });

  test("lists no value that a later line removed", () => {
    const lines = [
      ["namespaces", "a", {}],
      ["namespaces", "b", {}],
      ["namespaces", "a", null],
      ["topology", { region: "eu" }],
      ["topology", null],
    ];
    const stage = stageLines("whole", NOTHING_HELD, linesFrom(lines));
    expect([...stage.values()]).toEqual([{ path: ["namespaces", "b"], value: {} }]);
    expect(drain(stage.finish())).toEqual({
      entries: [{ collection: "namespaces", key: "b", entry: {} }],
      singles: {},
    });
  });

  const labels = (exportedLabels: Record<string, string>, more: object = {}) => ({
    ...headlessExport(2),
    exportedLabels,
    ...more,
  });
  test.each<[what: string, now: object, held: object, changes: boolean]>([
    ["equal", labels({ a: "1", b: "2" }), labels({ a: "1", b: "2" }), false],
    ["equal in another order", labels({ b: "2", a: "1" }), labels({ a: "1", b: "2" }), false],
    ["with another value", labels({ a: "1", b: "3" }), labels({ a: "1", b: "2" }), true],
    ["with another name", labels({ a: "1", c: "2" }), labels({ a: "1", b: "2" }), true],
    ["with one name more", labels({ a: "1", b: "2" }), labels({ a: "1" }), true],
    ["with one name less", labels({ a: "1" }), labels({ a: "1", b: "2" }), true],
    ["with the name of an inherited member", labels({ constructor: "1" }), labels({ toString: "1" }), true],
    [
      "with another list",
      labels({}, { clusterIPs: ["10.0.0.1"] }),
      labels({}, { clusterIPs: ["10.0.0.2"] }),
      true,
    ],
    [
      "with an equal list",
      labels({}, { clusterIPs: ["10.0.0.1"] }),
      labels({}, { clusterIPs: ["10.0.0.1"] }),
      false,
    ],
    ["with another endpoint", headlessExport(3), headlessExport(2), true],
  ])("has a change for an entry %s: only if it is another one", (_, now, held, changes) => {
    const of = (entry: object) =>
      ({ ...emptySnapshot("west"), exports: { "shop/web": entry } }) as ClusterSnapshot;
    const { entries } = applyLines(heldSnapshot(of(structuredClone(held))), linesOf(of(now)), "whole");
    expect(entries).toEqual(changes ? [{ collection: "exports", key: "shop/web", entry: now }] : []);
  });
});

describe("errors in lines", () => {
  test("end the reading at the thousandth", () => {
    const lines = Array.from({ length: 1000 }, (_, index) => ["pods", `n${index}`, {}]);
    const stage = stageLines("changes", NOTHING_HELD, linesFrom(lines.slice(1)));
    expect(() => drain(stage.apply([...linesFrom(lines)][0]!))).toThrow(SnapshotError);
  });

  test("of a member __proto__ name its path, or the entry where it is not in the patch itself", () => {
    const issueOf = (change: unknown) => {
      const [line] = linesFrom([change]);
      const lines = [{ ...line!, number: 7, hasPrototypeKey: true }];
      const stage = stageLines("changes", NOTHING_HELD, lines);
      try {
        drain(stage.finish());
      } catch (error) {
        return (error as SnapshotError).issues;
      }
      return [];
    };
    const issue = (path: string) => [{ path, message: "is not a known field", line: 7 }];
    expect(issueOf(JSON.parse('["namespaces","a",{"b":{"__proto__":1}}]'))).toEqual(
      issue("namespaces.a.b.__proto__"),
    );
    expect(issueOf(JSON.parse('["topology",{"__proto__":1}]'))).toEqual(issue("topology.__proto__"));
    expect(issueOf(["namespaces", "a", {}])).toEqual(issue("namespaces.a"));
  });

  test("of an entry that failed are not repeated, also where a later line would be right", () => {
    const lines = [
      ["namespaces", "a", { wrong: 1 }],
      ["namespaces", "a", null],
      ["namespaces", "a", { wrong: 2 }],
      ["namespaces", "b", { wrong: 3 }],
    ];
    const stage = stageLines("changes", NOTHING_HELD, linesFrom(lines));
    expect(() => drain(stage.finish())).toThrow(
      "line 2: namespaces.a.wrong: is not a known field; line 5: namespaces.b.wrong: is not a known field",
    );
  });
});
