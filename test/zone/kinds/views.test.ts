import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { compileGeneration, sourceOf } from "../../../src/zone/compile.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY } from "../../../src/zone/reverse/reverse-history.ts";
import { endpoints, exporting, imported, snapshot } from "../../merge/fixtures.ts";

const east = exporting("east", { endpoints: endpoints({ address: "10.1.0.1" }) });
const west = snapshot("west", { imports: { "shop/web": imported({ ips: ["10.201.0.1"] }) } });

describe("views of a service with ClusterSetIP", () => {
  it("are those of the clusters with which the compilation began, although services change while it runs", () => {
    const before = sourceOf(mergeClusterset([east]));
    const after = mergeClusterset([east, west]).services[0]!;
    const compile = (service: typeof after) =>
      drain(
        new ZoneCompiler().compile({ ...before, service: () => service }, "all", {
          ...{ serial: 1, history: NO_HISTORY },
        }),
      ).generation.rootHash;
    expect(after.byCluster.size).toBe(1);
    expect(compile(after)).toBe(compile({ ...after, byCluster: new Map() }));
  });

  it("have the same bytes whatever the order of clusters", () => {
    const clusters = ["c", "a", "b"].map((clusterId, index) =>
      snapshot(clusterId, {
        imports: { "shop/web": imported({ managed: true, ips: [`10.200.0.${index}`] }) },
      }),
    );
    const hash = (world: typeof clusters) =>
      compileGeneration(mergeClusterset([east, ...world])).generation.rootHash;
    expect(hash(clusters.toReversed())).toBe(hash(clusters));
  });
});
