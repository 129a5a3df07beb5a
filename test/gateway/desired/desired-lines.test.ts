import { describe, expect, it } from "vitest";
import type { Reach } from "../../../src/desired/desired-service.ts";
import { deriveLines, keyOfInvalidExport } from "../../../src/gateway/desired/desired-lines.ts";
import { MergedServices } from "../../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../../src/merge/index/service-index.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { heldSnapshot } from "../../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exporting, port } from "../../merge/fixtures.ts";

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

describe("the lines of a service", () => {
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
