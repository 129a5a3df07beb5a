import { describe, expect, it } from "vitest";
import { resolve } from "../../src/resolve/resolve.ts";
import { clusterLocalTable } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { ask, encodeQuery, leasesUntil } from "./ask.ts";

const POD = "1-2-3-4.default.pod.cluster.local";
const world = { ...compileTable(clusterLocalTable), view: "east" };

describe("a pod's name in a zone where all such names exist (DNS-based service discovery 1.0.1, section 2.6)", () => {
  it("is as fresh as its TTL, and no fresher than the cluster's lease", () => {
    const asked = (context: typeof world) => resolve(encodeQuery(POD, "A"), context)!;
    expect(asked(world)).toMatchObject({ outcome: "answer", freshness: 5 });
    const expiring = leasesUntil((clusterId) => (clusterId === "east" ? 2500 : Number.POSITIVE_INFINITY));
    expect(asked({ ...world, leases: expiring }).freshness).toBe(2);
    expect(ask({ ...world, leases: expiring }, POD, "A").answer).toEqual([`${POD} 2 A 1.2.3.4`]);
  });

  it("has a minimal answer to ANY (RFC 8482 section 4.2)", () => {
    expect(ask(world, POD, "ANY")).toMatchObject({
      rcode: "NOERROR",
      answer: [`${POD} 5 HINFO RFC8482 `],
    });
  });

  it.each(["1-2-3-4.cluster.local", "1-2-3-4.pod.cluster.local", "1-2-3-4.default.svc.cluster.local"])(
    "%s is none",
    (name) => expect(ask(world, name, "A").rcode).toBe("NXDOMAIN"),
  );
});
