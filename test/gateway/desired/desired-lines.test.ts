import { describe, expect, it } from "vitest";
import type { Reach } from "../../../src/desired/desired-service.ts";
import { deriveLines, withdrawalOf } from "../../../src/gateway/desired/desired-lines.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { KeyWorld } from "../../../src/names/key-world.ts";
import { SnapshotEntries } from "../../../src/names/snapshot-entries.ts";
import { DesiredLine } from "../../../src/snapshot/desired/desired-line.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exporting, port } from "../../merge/fixtures.ts";

/** The lines of a service for the clusters "a" and "b". */
function linesOf(
  world: readonly ClusterSnapshot[],
  key: string,
  { visibility = {}, reach = "pods" }: { visibility?: Visibility; reach?: Reach } = {},
) {
  const keyWorld = new KeyWorld(new SnapshotEntries(world, visibility), {}, {}, new Map());
  const lines = deriveLines(keyWorld, { clusters: new Set(["a", "b"]), reachOf: () => reach }, key);
  return { lines: [...lines].map(([name, line]) => ({ name, ...line })) };
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

it("lines are taken back by their names", () => {
  const world = [
    exporting("a", { headless: true, endpoints: endpoints({ address: "10.0.0.1" }) }),
    exporting("b", { headless: true, endpoints: endpoints({ address: "10.0.0.2" }) }),
  ];
  const { lines } = linesOf(world, "shop/web");
  expect(lines).toHaveLength(5);
  for (const { name, text } of lines) {
    const line = DesiredLine.parse(JSON.parse(text));
    const what = "export" in line ? { conditions: null } : { desired: null };
    expect(JSON.parse(withdrawalOf("shop/web", name))).toEqual({ ...line, ...what });
  }
});
