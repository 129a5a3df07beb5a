import { describe, expect, it } from "vitest";
import { parentForm } from "../../../../src/zone/segment/blocks/names.ts";
import { NodeTable } from "../../../../src/zone/segment/blocks/node-table.ts";
import { HeapWriter } from "../../../../src/zone/segment/heap-writer.ts";
import { NameForm } from "../../../../src/zone/segment/layout.ts";

const tableOf = (...trees: readonly string[]) => new NodeTable(new HeapWriter(), trees);

describe("the names of a key while they are built", () => {
  it("have a node each, below the apex of their tree", () => {
    const table = tableOf("clusterset", "local:a");
    const web = table.child(0, "web.shop.svc");
    const port = table.child(web, "_tcp");
    const own = table.child(1, "web.shop.svc");
    expect([web, port, own, table.count]).toEqual([2, 3, 4, 5]);
    expect([
      table.child(0, "web.shop.svc"),
      table.child(web, "_tcp"),
      table.child(1, "web.shop.svc"),
    ]).toEqual([web, port, own]);
    expect([0, 1, web, port, own].map((node) => table.isTop(node))).toEqual([
      ...[false, false, true, false, true],
    ]);
    expect([0, 1, web, port, own].map((node) => table.apexOf(node))).toEqual([0, 1, 0, 0, 1]);
    expect([table.parentOf(port), table.parentOf(own)]).toEqual([web, 1]);
    expect(table.labels(port)).toEqual(["_tcp", "web", "shop", "svc"]);
    expect(table.labels(0)).toEqual([]);
    expect([0, web, port, own].map((node) => table.nameBytes(node))).toEqual([0, 13, 18, 13]);
  });

  it("are one name in any case of letters, with the first spelling (RFC 4343 section 3)", () => {
    const table = tableOf("clusterset");
    const web = table.child(0, "Web.shop");
    expect(table.child(0, "wEB.SHOP")).toBe(web);
    expect(table.labels(web)).toEqual(["Web", "shop"]);
    expect(table.child(0, "wea.shop")).not.toBe(web);
  });

  it("are one name however it is divided", () => {
    const table = tableOf("clusterset", "local:a");
    const whole = table.child(0, "a.b.c");
    const c = table.child(0, "c");
    expect(table.child(c, "A.b")).toBe(whole);
    expect(table.child(table.child(c, "b"), "a")).toBe(whole);
    const other = table.child(1, "c");
    expect(table.child(other, "a.b")).not.toBe(whole);
    expect(table.child(c, "a.c")).not.toBe(whole);
  });

  it("have records and flags of their own", () => {
    const table = tableOf("clusterset");
    const [one, other] = [table.child(0, "one"), table.child(0, "other")];
    table.setRecords(one, 77);
    table.addFlags(one, NameForm.stem);
    table.addFlags(one, NameForm.variants);
    expect([table.recordsOf(one), table.hasRecords(one), table.flagsOf(one)]).toEqual([77, true, 0x28]);
    expect([table.hasFlag(one, NameForm.stem), table.hasFlag(one, NameForm.everywhere)]).toEqual([
      true,
      false,
    ]);
    expect([table.recordsOf(other), table.hasRecords(other), table.flagsOf(other)]).toEqual([0, false, 0]);
    expect([table.runOf(0), table.runOf(one) !== table.runOf(other)]).toEqual([0, true]);
  });

  it("may be as many as come, in as many trees", () => {
    const trees = Array.from({ length: 100 }, (_, index) => `local:c${index}`);
    const table = tableOf(...trees);
    const nodes = new Map<string, number>();
    for (let index = 0; index < 3000; index++) {
      const tree = index % 100;
      nodes.set(`${tree} n${index}`, table.child(tree, `n${index}`));
    }
    expect(table.count).toBe(3100);
    expect(new Set(nodes.values()).size).toBe(3000);
    for (const [name, node] of nodes) {
      const [tree, label] = name.split(" ") as [string, string];
      expect(table.child(Number(tree), label)).toBe(node);
      expect([table.apexOf(node), table.labels(node), table.nameBytes(node)]).toEqual([
        ...[Number(tree), [label], label.length + 1],
      ]);
    }
    expect(table.count).toBe(3100);
  });
});

describe("the form of a parent", () => {
  it.each([
    [1, 1],
    [255, 1],
    [256, 2],
    [65_535, 2],
    [65_536, 3],
  ])("that is %i bytes in front is %i", (distance, form) => {
    expect(parentForm(distance)).toBe(form);
  });
});
