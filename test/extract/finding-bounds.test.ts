import { describe, expect, test } from "vitest";
import { SnapshotAssembler } from "../../src/extract/assembler.ts";
import { chooseClusterId } from "../../src/extract/cluster-identity.ts";
import { extractSnapshot } from "../../src/extract/extract.ts";
import { UNDATED } from "../../src/extract/services/service-spec.ts";
import { exportedWeb, findingsOf } from "./findings-of.ts";
import { namespace, node, ofService, service, serviceExport, slice } from "./objects.ts";

const wrongPorts = (count: number) => ({
  ports: Array.from({ length: count }, (_, index) => ({ name: index })),
});

describe("a finding", () => {
  test.each([
    [10, ""],
    [11, "; and 1 more"],
    [13, "; and 3 more"],
  ])("with %i messages ends with %j", (count, end) => {
    const [finding] = findingsOf(exportedWeb(wrongPorts(count)));
    expect(finding!.match(/spec\.ports\[\d+\]/g)).toHaveLength(10);
    expect(finding!.endsWith(`it is left out${end}`)).toBe(true);
  });

  test.each([
    [78, `"${"s".repeat(78)}"`],
    [79, `"${"s".repeat(76)}...`],
  ])("quotes a text of %i characters as %s", (length, quoted) => {
    expect(findingsOf(exportedWeb({ sessionAffinity: "s".repeat(length) }))).toEqual([
      `Service/shop/web/InvalidField: spec.sessionAffinity holds ${quoted}, which is not a text of up to 63 characters; it is left out`,
    ]);
  });

  test("about a cluster-scoped object has no namespace, and a name of at most 253 characters", () => {
    const { findings } = extractSnapshot([namespace("n".repeat(300))], { clusterId: "east" });
    const name = "n".repeat(253);
    expect(findings).toEqual({
      [`Namespace/${name}/InvalidName`]: {
        reason: "InvalidName",
        kind: "Namespace",
        name,
        message: "the name is not valid for a Kubernetes object",
      },
    });
  });

  test("about an object without a service needs its namespace, and ends with its cause", () => {
    const assembler = new SnapshotAssembler({ clusterId: "east" });
    assembler.upsert(slice("shop/stray", {}, []));
    expect(assembler.snapshot().findings).toEqual({});
    assembler.upsert(slice("shop/stray", ofService("web"), []));
    assembler.upsert(namespace("shop"));
    expect(assembler.snapshot().findings).toEqual({});
  });
});

describe("null counts as absent", () => {
  test("in the timeout of session affinity and its parents", () => {
    for (const config of [null, {}, { clientIP: null }, { clientIP: { timeoutSeconds: null } }])
      expect(findingsOf(exportedWeb({ sessionAffinityConfig: config }))).toEqual([]);
  });

  test("in the creation time", () => {
    const objects = [service("shop/web"), serviceExport("shop/web", {}, { creationTimestamp: null })];
    expect(findingsOf(objects)).toEqual([]);
    const { exports } = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east" });
    expect(exports["shop/web"]!.exportedAt).toBe(UNDATED);
  });
});

describe("the cluster id (KEP-2149)", () => {
  test("skips absent sources", () => {
    expect(chooseClusterId(undefined, null, "uid-1")).toBe("uid-1");
    expect(chooseClusterId(undefined, undefined, "uid-1")).toBe("uid-1");
  });

  test.each<[string, [string | undefined, unknown, unknown]]>([
    ['the cluster id given is "A"', ["A", "west", "uid-1"]],
    ['the ClusterProperty cluster.clusterset.k8s.io is ["west"]', [undefined, ["west"], "uid-1"]],
    ["the UID of the namespace kube-system is 7", [undefined, undefined, 7]],
    ["the cluster has no id", [undefined, undefined, undefined]],
  ])("explains that %s", (message, sources) => {
    expect(() => chooseClusterId(...sources)).toThrow(message);
  });
});

test("the topology has the first 1,000 zones by name", () => {
  const zones = Array.from({ length: 1001 }, (_, index) => `zone-${1000 + index}`);
  const nodes = zones
    .toReversed()
    .map((zone) => node(`node-of-${zone}`, { "topology.kubernetes.io/zone": zone }));
  expect(extractSnapshot(nodes, { clusterId: "east" }).topology).toEqual({ zones: zones.slice(0, 1000) });
});
