import { describe, expect, it } from "vitest";
import type { Reach } from "../../../src/desired/desired-service.ts";
import { deriveLines, keyOfInvalidExport } from "../../../src/gateway/desired/desired-lines.ts";
import { MergedServices } from "../../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../../src/merge/index/service-index.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot, Finding } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, port, snapshot } from "../../merge/fixtures.ts";

/** The lines of a service for the clusters "a" and "b". */
function linesOf(
  world: readonly ClusterSnapshot[],
  key: string,
  { visibility = {}, reach = "pods" }: { visibility?: Visibility; reach?: Reach } = {},
) {
  const index = new ServiceIndex();
  const services = new MergedServices(index, visibility);
  for (const one of world) for (const _ of index.join(one.clusterId, heldSnapshot(one)));
  for (const _ of services.settle());
  const source = { index, services, clusters: new Set(["a", "b"]), reachOf: () => reach };
  const { lines, exporters } = deriveLines(source, key);
  return { exporters, lines: [...lines].map(([name, line]) => ({ name, ...line })) };
}

const finding = (reason: string): Finding => ({
  ...{ reason, kind: "ServiceExport", namespace: "shop", name: "db", message: `of ${reason}` },
});
const invalid = (clusterId: string, ...reasons: readonly string[]) =>
  snapshot(clusterId, {
    findings: Object.fromEntries(reasons.map((one) => [`ServiceExport/shop/db/${one}`, finding(one)])),
  });

describe("the lines of a service", () => {
  it("have a name each: the import, slices by cluster, the export of each exporter that reads its own", () => {
    const web = (clusterId: string, address: string) =>
      exporting(clusterId, { endpoints: endpoints({ address }) });
    const { lines, exporters } = linesOf(
      [web("a", "10.0.0.1"), web("b", "10.1.0.1"), web("c", "10.2.0.1")],
      "shop/web",
    );
    expect(exporters).toEqual(["a", "b", "c"]);
    expect(lines.map(({ name }) => name.replace(/ [^ ]*$/, ""))).toEqual([
      ...["import", "slice a", "slice b", "slice c", "export", "export"],
    ]);
    expect(lines.map(({ only }) => only)).toEqual([undefined, undefined, undefined, undefined, "a", "b"]);
    for (const { text, none } of lines) {
      const [line, taken] = [JSON.parse(text), JSON.parse(none)] as Record<string, unknown>[];
      const content = "conditions" in line! ? "conditions" : "desired";
      expect(line![content]).not.toBeNull();
      expect(taken).toEqual({ ...line, [content]: null });
      expect([text, none].every((one) => one.indexOf("\n") === one.length - 1)).toBe(true);
    }
  });

  it("reach all clusters by pods' addresses; by a load balancer's only the others", () => {
    const world = [
      exporting("a", {
        ...{ serviceType: "LoadBalancer", ports: [port("http", 80)], loadBalancer: [{ ip: "192.0.2.1" }] },
        endpoints: endpoints({ address: "10.0.0.1" }),
      }),
    ];
    const slices = (reach: Reach) =>
      linesOf(world, "shop/web", { reach }).lines.flatMap(({ name, text, only, except }) =>
        name.startsWith("slice")
          ? [[/192\.0\.2\.1|10\.0\.0\.1/.exec(text)?.[0], only ?? "", except ?? ""]]
          : [],
      );
    expect(slices("pods")).toEqual([["10.0.0.1", "", ""]]);
    expect(slices("loadBalancers")).toEqual([
      ["10.0.0.1", "a", ""],
      ["192.0.2.1", "", "a"],
    ]);
  });

  it("are none for a service without exporters", () => {
    expect(linesOf([snapshot("a")], "shop/web")).toEqual({ lines: [], exporters: [] });
  });

  it("name an export that the worker cannot make for that cluster alone, as far as the cluster exists", () => {
    const names = (visibility: Visibility) =>
      linesOf([invalid("a", "NoService"), invalid("b", "InvalidServiceType")], "shop/db", {
        visibility,
      }).lines.map(({ name }) => name);
    expect(names({})).toEqual(["export a", "export b"]);
    expect(names({ clusters: ["a"] })).toEqual(["export a"]);
    expect(names({ clusters: ["b", "c"] })).toEqual(["export b"]);
  });

  it("give the first reason of several for an export that the worker cannot make", () => {
    const conditions = (...reasons: string[]) =>
      linesOf([invalid("a", ...reasons)], "shop/db").lines.map(
        ({ text }) => (JSON.parse(text) as { conditions: { reason: string }[] }).conditions[0]?.reason,
      );
    expect(conditions("InvalidServiceType", "NoService")).toEqual(["NoService"]);
    expect(conditions("InvalidServiceType")).toEqual(["InvalidServiceType"]);
    expect(conditions("PortOutOfRange")).toEqual([]);
  });
});

it.each([
  ["ServiceExport/shop/db/NoService", "shop/db"],
  ["ServiceExport/shop/db/InvalidServiceType", "shop/db"],
  ["ServiceExport/shop/db/PortOutOfRange", undefined],
  ["ServiceExport/shop/db", undefined],
  ["ServiceExport/shop/db/NoService/more", undefined],
  ["Service/shop/db/NoService", undefined],
  ["", undefined],
])("the finding %j is about the invalid export %j", (findingKey, key) => {
  expect(keyOfInvalidExport(findingKey)).toBe(key);
});

it("an export of a service that has exporters elsewhere is not theirs", () => {
  const world = [
    exporting("a"),
    snapshot("c", { exports: { "shop/db": exported() } }),
    invalid("b", "NoService"),
  ];
  expect(linesOf(world, "shop/db").lines.map(({ name }) => name)).toEqual(["import", "export b"]);
});
