import { describe, expect, it } from "vitest";
import { formatName } from "../../src/dns/name.ts";
import { notReady } from "../../src/resolve/error-responses.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { clusterLocalTable } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { encodeQuery } from "./ask.ts";

const world = compileTable(clusterLocalTable);
const CLUSTER_IP = "1.0.3.10.in-addr.arpa";

describe("an answer says why its name is out of zone", () => {
  it.each([
    ["www.example.com", "east", "no-zone"],
    ["local", "east", "no-zone"],
    ["xcluster.local", "east", "no-zone"],
    ["cluster.local", undefined, "hidden"],
    ["kubernetes.default.svc.cluster.local", undefined, "hidden"],
    ["kubernetes.default.svc.CLUSTER.local", "nobody", "hidden"],
    ["kubernetes.default.svc.cluster.local", "east", undefined],
    ["nothing.svc.cluster.local", "east", undefined],
    ["nothing.clusterset.local", undefined, undefined],
    [CLUSTER_IP, "east", undefined],
    // The address of a cluster's own Service, in another view.
    [CLUSTER_IP, undefined, "no-zone"],
    ["9.9.9.10.in-addr.arpa", "east", "no-zone"],
  ])("%s in the view %s: %s", (name, view, expected) => {
    for (const outside of ["refuse", "nxdomain"] as const)
      expect(resolve(encodeQuery(name, "PTR"), { ...world, view, outside })?.outOfZone).toBe(expected);
  });

  it.each([
    ["foo.default.svc.cluster.local", "east", "www.example.com"],
    ["your-service.your-cluster.default.svc.cluster.local", "east", undefined],
    ["hop.default.svc.cluster.local", "east", undefined],
    ["lost.default.svc.cluster.local", "east", undefined],
    ["kubernetes.default.svc.cluster.local", "east", undefined],
  ])("the CNAME target out of zone of %s in the view %s is %s", (name, view, expected) => {
    const cnameTarget = resolve(encodeQuery(name, "A"), { ...world, view })?.cnameTarget;
    expect(cnameTarget && formatName(cnameTarget)).toBe(expected && `${expected}.`);
  });

  it("the reason is unknown before a generation is loaded", () => {
    expect(notReady(encodeQuery("www.example.com", "A"))?.outOfZone).toBe("unknown");
  });

  it.each(["AXFR", "IXFR"])("%s is REFUSED without such a reason", (type) => {
    expect(resolve(encodeQuery("www.example.com", type), world)?.outOfZone).toBeUndefined();
  });
});
