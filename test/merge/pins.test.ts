import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { createPinTable, type Pins } from "../../src/merge/pins.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";

describe("a pattern of services", () => {
  it.each([
    ["shop", "shop/web", true],
    ["shop", "shop2/web", false],
    ["shop", "sho/web", false],
    ["shop/web", "shop/web", true],
    ["shop/web", "shop/web2", false],
    ["*", "shop/web", true],
    ["team-*", "team-a/db", true],
    ["team-*", "team/db", false],
    ["*/db", "payroll/db", true],
    ["*/db", "payroll/adb", false],
    ["team-*/db-*", "team-a/db-1", true],
    ["a*b*c", "abc/x", true],
    ["a*b*c", "axxbyyc/x", true],
    ["a*b*c", "axxcyyb/x", false],
    ["a*a", "a/x", false],
    ["a*a", "aa/x", true],
    ["a*bc*c", "abc/x", false],
    ["*a*", "bab/x", true],
  ])("%s and %s: %s", (pattern, service, fits) => {
    const table = createPinTable({ exports: new Map([["east", [pattern]]]) });
    expect(table.mayExport("east", service)).toBe(fits);
    expect(table.mayExport("west", service)).toBe(true);
  });

  it.each(["", "/", "shop/", "/web", "Shop", "shop/web/x", "shop web"])("rejects %j", (pattern) => {
    const rejected = { name: "RangeError", message: `${JSON.stringify(pattern)} is no pattern of services` };
    expect(() => createPinTable({ exports: new Map([["east", [pattern]]]) })).toThrow(
      expect.objectContaining(rejected),
    );
    expect(() => createPinTable({ owners: [{ service: pattern, owner: "east" }] })).toThrow(
      expect.objectContaining(rejected),
    );
  });

  it("fits what the same regular expression fits", () => {
    const part = (letters: string) =>
      fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 6 }).map((all) => all.join(""));
    fc.assert(
      fc.property(part("ab*"), part("ab"), (pattern, text) => {
        const table = createPinTable({ exports: new Map([["east", [pattern]]]) });
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(table.mayExport("east", `${text}/x`)).toBe(expression.test(text));
      }),
    );
  });
});

const withAge = (clusterId: string, exportedAt: string, port: number): ClusterSnapshot => {
  const snapshot = structuredClone(shopSnapshot(clusterId));
  const web = snapshot.exports["shop/web"]!;
  return {
    ...snapshot,
    exports: { "shop/web": { ...web, exportedAt, ports: [{ name: "http", protocol: "TCP", port }] } },
  };
};
const old = withAge("east", "2024-01-01T00:00:00Z", 81);
const young = withAge("west", "2025-01-01T00:00:00Z", 82);
const merged = (pins: Pins, ...snapshots: ClusterSnapshot[]) => mergeClusterset(snapshots, { pins });

describe("push.credentials[].exports", () => {
  it("leaves an export outside of it out, with a finding of that cluster, and nothing else", () => {
    const pins = { exports: new Map([["east", ["payroll"]]]) };
    const { services, findings, conflicts } = merged(pins, old, young);
    expect(services).toEqual(merged({}, { ...old, exports: {} }, young).services);
    expect(conflicts).toEqual([]);
    expect(findings).toMatchObject([
      {
        clusterId: "east",
        reason: "ExportNotAllowed",
        kind: "ServiceExport",
        namespace: "shop",
        name: "web",
      },
    ]);
    expect(merged({ exports: new Map([["east", ["payroll", "shop/w*"]]]) }, old, young)).toEqual(
      merged({}, old, young),
    );
  });

  it("leaves a service out that nobody else exports", () => {
    const { services, findings } = merged({ exports: new Map([["east", []]]) }, old);
    expect(services).toEqual([]);
    expect(findings).toHaveLength(1);
  });
});

describe("services[].owner", () => {
  const pinned = { owners: [{ service: "shop/*", owner: "west" }] };

  it("decides the properties whatever is older, and conflicts say so", () => {
    expect(merged({}, old, young).services[0]?.ports).toMatchObject([{ port: 81 }]);
    const { services, conflicts, findings } = merged(pinned, old, young);
    expect(services[0]?.ports).toMatchObject([{ port: 82 }]);
    expect(findings).toEqual([]);
    expect(conflicts[0]).toMatchObject({ winner: "west", disagree: ["east"] });
    expect(conflicts[0]?.message).toContain('pinned service export in "west"');
  });

  it("is as if the owner had the oldest export", () => {
    const oldest = withAge("west", "2023-01-01T00:00:00Z", 82);
    const [asPinned] = merged(pinned, old, young).services;
    const [asOldest] = merged({}, old, oldest).services;
    expect({ ...asPinned, since: undefined }).toEqual({ ...asOldest, since: undefined });
  });

  it("is a finding where the owner does not export the service, and the oldest export decides", () => {
    const { services, findings } = merged(pinned, old);
    expect(services).toEqual(merged({}, old).services);
    expect(findings).toMatchObject([{ clusterId: "east", reason: "OwnerNotExporting", name: "web" }]);
  });

  it("is the first entry that fits", () => {
    const owners = [{ service: "shop/web", owner: "east" }, ...pinned.owners];
    expect(createPinTable({ owners }).ownerOf("shop/web")).toBe("east");
    expect(createPinTable({ owners }).ownerOf("shop/db")).toBe("west");
    expect(createPinTable({ owners }).ownerOf("payroll/db")).toBeUndefined();
  });
});
