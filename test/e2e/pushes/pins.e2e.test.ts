import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { answered, metric } from "../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

const TOKEN = "a-token-of-the-fenced-cluster-with-enough-length";
const FENCED = "fenced";
const [PAYROLL, SHOP] = ["payroll/db", "shop/web"];

/** A cluster that exports these services with one endpoint and one port each. */
function exporting(clusterId: string, address: string, port: number, exportedAt: string): ClusterSnapshot {
  const ports = [{ name: "http", protocol: "TCP", port }];
  const one = exported({ exportedAt, ports, endpoints: endpoints({ address }) });
  return snapshot(clusterId, {
    namespaces: { payroll: {}, shop: {} },
    exports: { [PAYROLL]: one, [SHOP]: one },
  });
}

describe("what an operator pins (docs/reference/push-api.md)", () => {
  let gateway: GatewayProcess;
  const srv = (name: string) => answered(gateway, `_http._tcp.${name}`, "SRV");
  const put = (world: ClusterSnapshot, token: string) =>
    gateway.http(`/api/v1/clusters/${world.clusterId}/snapshot`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "content-type": LINES_TYPE },
      body: Buffer.from(snapshotBody(world)),
    });

  beforeAll(async () => {
    const tokenSha256 = createHash("sha256").update(TOKEN).digest("hex");
    gateway = await startGateway({
      clusters: ["west"],
      config: {
        push: { credentials: [{ clusterId: FENCED, tokenSha256, exports: ["shop"] }] },
        services: [{ service: SHOP, owner: FENCED }],
      },
    });
    // On the first day the reported times count: without pins the fenced cluster would decide both services, or west would.
    expect((await put(exporting(FENCED, "10.1.0.1", 81, "2022-01-01T00:00:00Z"), TOKEN)).status).toBe(200);
  });
  afterAll(() => gateway?.stop());

  test("a cluster's export outside of its list is not answered, and is a finding", async () => {
    expect(await answered(gateway, "db.payroll")).toBe("NXDOMAIN");
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1"]);
    const status = await gateway.http(`/api/v1/clusters/${FENCED}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(status.json<{ findings: object[] }>().findings).toMatchObject([
      { clusterId: FENCED, reason: "ExportNotAllowed", namespace: "payroll", name: "db" },
    ]);
    const labels = { cluster: FENCED, reason: "ExportNotAllowed" };
    expect(await metric(gateway, "clusterset_doh_findings", labels)).toBe(1);
  });

  test("the owner decides a service, although another export is older; where it may not export, it has no part", async () => {
    const west = exporting("west", "10.2.0.1", 82, "2021-01-01T00:00:00Z");
    expect((await put(west, gateway.tokenFor("west"))).status).toBe(200);
    expect(await srv("web.shop")).toEqual(["0 100 81 web.shop.svc.clusterset.local"]);
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1", "10.2.0.1"]);
    expect(await srv("db.payroll")).toEqual(["0 100 82 db.payroll.svc.clusterset.local"]);
    expect(await answered(gateway, "db.payroll")).toEqual(["10.2.0.1"]);
  });

  test("while the owner is away the oldest export decides, with a finding for each exporter", async () => {
    const left = await gateway.http(`/api/v1/clusters/${FENCED}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(left.status).toBe(204);
    expect(await srv("web.shop")).toEqual(["0 100 82 web.shop.svc.clusterset.local"]);
    const { findings } = await gateway.clusterStatus<{ findings: object[] }>("west");
    expect(findings).toMatchObject([
      { clusterId: "west", reason: "OwnerNotExporting", namespace: "shop", name: "web" },
    ]);
  });
});
