import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { COLLECTION_PLANS } from "../../../src/snapshot/lines/entry-plan.ts";
import { ValuePatcher } from "../../../src/snapshot/lines/patch-value.ts";
import type { ExportedService } from "../../../src/snapshot/schema.ts";
import { headlessExport } from "../worlds.ts";

const { member: EXPORT } = COLLECTION_PLANS.exports;
const PATH = ["exports", "shop/web"];

function open() {
  const issues: string[] = [];
  const patcher = new ValuePatcher((path, message) => void issues.push(`${path}: ${message}`));
  const steps = (before: unknown, patch: unknown, known?: unknown) =>
    patcher.apply(EXPORT, before, known, patch, PATH);
  const apply = (...given: Parameters<typeof steps>) => drain(steps(...given)) as ExportedService;
  return { issues, apply, steps };
}

const members = (count: number, from = 0) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => {
      const address = `10.7.${(from + index) >> 8}.${(from + index) & 255}`;
      return [address, { address }];
    }),
  );
const groupOf = (change: object) => ({ endpoints: { "http/TCP/8080": { members: change } } });

describe("a patch on a value", () => {
  it("returns the value itself if it changes nothing", () => {
    const { apply, issues } = open();
    const held = headlessExport(3);
    for (const patch of [
      {},
      { headless: true },
      { endpoints: {} },
      groupOf({}),
      groupOf({ "10.9.9.9": null }),
    ])
      expect(apply(held, patch)).toBe(held);
    expect(issues).toEqual([]);
  });

  it("copies what it changes, and leaves what is held as it was", () => {
    const { apply } = open();
    const held = headlessExport(3);
    const before = structuredClone(held);
    const after = apply(held, groupOf({ "10.0.0.1": { ready: false } }));
    expect(held).toEqual(before);
    expect(after).not.toBe(held);
    expect(after.ports).toBe(held.ports);
    const [own, given] = [after, held].map(({ endpoints }) => endpoints["http/TCP/8080"]!.members);
    expect(own!["10.0.0.0"]).toBe(given!["10.0.0.0"]);
    expect(own!["10.0.0.1"]).toEqual({ ...given!["10.0.0.1"], ready: false });
  });

  it("changes its own copy in place with the next lines", () => {
    const { apply } = open();
    const held = headlessExport(3);
    const first = apply(held, groupOf({ "10.0.0.1": null }));
    const second = apply(first, groupOf({ "10.0.0.2": null }));
    expect(second).toBe(first);
    expect(Object.keys(second.endpoints["http/TCP/8080"]!.members)).toEqual(["10.0.0.0"]);
    expect(Object.keys(held.endpoints["http/TCP/8080"]!.members)).toHaveLength(3);
  });

  it("takes equal parts from a state that is held, with their identity", () => {
    const { apply } = open();
    const known = headlessExport(3);
    const { endpoints, ...head } = structuredClone(known);
    const [group] = Object.values(endpoints);
    const after = apply(
      undefined,
      { ...head, endpoints: { "http/TCP/8080": { ...group, members: {} } } },
      known,
    );
    expect(after.ports).toBe(known.ports);
    const all = apply(after, groupOf({ ...group!.members, "10.0.0.2": { address: "10.0.0.9" } }), known);
    const own = all.endpoints["http/TCP/8080"]!.members;
    const given = known.endpoints["http/TCP/8080"]!.members;
    expect([own["10.0.0.0"], own["10.0.0.1"]]).toEqual([given["10.0.0.0"], given["10.0.0.1"]]);
    expect(own["10.0.0.0"]).toBe(given["10.0.0.0"]);
    expect(own["10.0.0.2"]).toEqual({ address: "10.0.0.9" });
  });
});

describe("a patch on a value takes its steps", () => {
  it("of 128 members, those that are copied too", () => {
    const large = headlessExport(1000);
    // Of the 1,000 that are copied, and with 300 more that are given.
    expect([...open().steps(large, groupOf({ "10.0.0.0": { ready: false } }))]).toHaveLength(7);
    expect([...open().steps(large, groupOf(members(300)))]).toHaveLength(10);
    expect([...open().steps(large, groupOf({}))]).toHaveLength(0);
  });
});

describe("errors in a patch", () => {
  const head = { exportedAt: "2024-01-01T00:00:00Z", serviceType: "ClusterIP", headless: true, ports: [] };

  it.each<[what: string, before: unknown, patch: unknown, issues: string[]]>([
    ["an unknown field", headlessExport(1), { x: 1 }, ['exports["shop/web"].x: is not a known field']],
    ["no patch", undefined, 1, ['exports["shop/web"]: Invalid input: expected object, received number']],
    [
      "required fields of a new value that are absent",
      undefined,
      { exportedAt: head.exportedAt, serviceType: "ClusterIP", headless: true, endpoints: { g: {} } },
      [
        'exports["shop/web"].ports: Invalid input: expected array, received undefined',
        'exports["shop/web"].endpoints.g.ports: Invalid input: expected array, received undefined',
        'exports["shop/web"].endpoints.g.members: Invalid input: expected record, received undefined',
      ],
    ],
    [
      "a required field that is removed",
      headlessExport(1),
      { headless: null },
      ['exports["shop/web"].headless: Invalid input: expected boolean, received undefined'],
    ],
    [
      "a member __proto__ in a value that is validated whole",
      headlessExport(1),
      JSON.parse('{"loadBalancer":{"__proto__":1}}'),
      ['exports["shop/web"].loadBalancer.__proto__: is not a known field'],
    ],
  ])("name the field of %s, once", (_, before, patch, expected) => {
    const { apply, issues } = open();
    apply(before, patch);
    expect(issues.toSorted()).toEqual(expected.toSorted());
  });

  it("do not name a wrong field of a new value a second time as absent", () => {
    const { apply, issues } = open();
    apply(undefined, { ...head, headless: "yes", endpoints: {} });
    expect(issues).toEqual([
      'exports["shop/web"].headless: Invalid input: expected boolean, received string',
    ]);
  });

  it("are none where an optional field is removed, or removed where it is not there", () => {
    const { apply, issues } = open();
    const held = { ...headlessExport(1), clusterIPs: ["10.0.0.1"] };
    expect(apply(held, { clusterIPs: null, loadBalancer: null })).toEqual(headlessExport(1));
    expect(issues).toEqual([]);
  });
});
