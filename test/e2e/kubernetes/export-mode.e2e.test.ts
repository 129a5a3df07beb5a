import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exported, world } from "../commands/exported.ts";
import { answered, eventualAnswer, eventually, untilLive } from "../harness/answers.ts";
import type { GatewayProcess } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { serviceExport, serviceImport } from "../servers/kubernetes/objects.ts";
import { waitFor } from "../servers/wait.ts";

const pg = { name: "pg", port: 5432 };

/** What the two clusters export. */
async function fill({ east, west }: SyncedClusters<"east" | "west">["servers"]): Promise<void> {
  await east.admin.apply(
    ...world("shop", {
      web: { endpoints: ["10.1.0.1", "fd00:1::1"], spec: { ipFamilyPolicy: "RequireDualStack" } },
      db: {
        headless: true,
        port: pg,
        endpoints: [{ address: "10.1.0.10", hostname: "db-0" }, { address: "10.1.0.11" }],
      },
      pay: { endpoints: ["10.1.0.20"], spec: { sessionAffinity: "ClientIP" } },
    }),
  );
  // Timestamps of the API have seconds: wait until a newer ServiceExport gets a later one.
  const oldest = await east.admin.get(serviceExport("shop", "pay"));
  const createdAt = Date.parse(oldest.metadata.creationTimestamp as string);
  await waitFor("a later second", () => Date.now() >= createdAt + 1000);
  await west.admin.apply(
    ...world("shop", {
      web: { endpoints: ["10.2.0.1", "10.2.0.2"] },
      db: { headless: true, port: pg, endpoints: [{ address: "10.2.0.10", hostname: "db-0" }] },
      pay: { headless: true, port: { name: "pay", port: 9443 }, endpoints: ["10.2.0.20"] },
    }),
  );
}

describe("export mode: two API servers, a worker each under the RBAC of infra/kubernetes, one gateway", () => {
  let clusters: SyncedClusters<"east" | "west">;
  let east: ApiServer;
  let west: ApiServer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    clusters = await startSyncedClusters(["east", "west"], fill, {
      gateway: { zones: ["clusterset.test"] },
    });
    ({
      servers: { east, west },
      gateway,
    } = clusters);
    await untilLive(gateway, 2);
  });

  afterAll(() => clusters?.stop());

  test("a ClusterSetIP service without ServiceImports has the ready endpoints of both clusters and families", async () => {
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1", "10.2.0.1", "10.2.0.2"]);
    expect(await answered(gateway, "web.shop", "AAAA")).toEqual(["fd00:1::1"]);
    expect(await answered(gateway, "_http._tcp.web.shop", "SRV")).toEqual([
      expect.stringMatching(/^0 \d+ 80 web\.shop\.svc\.clusterset\.local$/),
    ]);
    expect(await answered(gateway, "east.web.shop")).toBe("NXDOMAIN");
  });

  test("a headless service has the union of endpoints, a name in each cluster, SRV and PTR", async () => {
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.10", "10.1.0.11", "10.2.0.10"]);
    expect(await answered(gateway, "db-0.east.db.shop")).toEqual(["10.1.0.10"]);
    expect(await answered(gateway, "db-0.west.db.shop")).toEqual(["10.2.0.10"]);
    expect(await answered(gateway, "db-1.east.db.shop")).toBe("NXDOMAIN");
    expect(await answered(gateway, "east.db.shop")).toBe("NODATA");
    const targets = ((await answered(gateway, "_pg._tcp.db.shop", "SRV")) as string[]).map((srv) =>
      srv.split(" ").slice(2).join(" "),
    );
    expect(targets.sort()).toEqual([
      "5432 10-1-0-11.east.db.shop.svc.clusterset.local",
      "5432 db-0.east.db.shop.svc.clusterset.local",
      "5432 db-0.west.db.shop.svc.clusterset.local",
    ]);
    const reverse = await gateway.lookup("10.0.2.10.in-addr.arpa", "PTR");
    expect(reverse.values).toEqual(["db-0.west.db.shop.svc.clusterset.local"]);
  });

  test("GET, the JSON form and an alias zone have the same answers", async () => {
    const wire = await answered(gateway, "db.shop");
    expect(await answered(gateway, "db.shop", "A", { method: "GET" })).toEqual(wire);
    const json = await gateway.json("db.shop.svc.clusterset.local", "A");
    expect((json.Answer as { data: string }[]).map(({ data }) => data).sort()).toEqual(wire);
    const alias = await gateway.lookup("db-0.west.db.shop.svc.clusterset.test", "A");
    expect(alias).toMatchObject({ rcode: "NOERROR", values: ["10.2.0.10"] });
  });

  test("in a conflict the oldest export wins, and each cluster's status has the conflict", async () => {
    // East made it a ClusterSetIP service on port 80, so no endpoint of it has a name.
    expect(await answered(gateway, "_http._tcp.pay.shop", "SRV")).toHaveLength(1);
    expect(await answered(gateway, "10-2-0-20.west.pay.shop")).toBe("NXDOMAIN");
    for (const clusterId of ["east", "west"]) {
      const { conflicts } = await gateway.clusterStatus<{ conflicts: Record<string, unknown>[] }>(clusterId);
      expect(conflicts).toContainEqual(
        expect.objectContaining({
          namespace: "shop",
          name: "pay",
          reason: "TypeConflict",
          winner: "east",
          disagree: ["west"],
        }),
      );
    }
  });

  test("the IP of a ServiceImport is answered in the importing cluster's view, and outside if the oldest exporter has one", async () => {
    const spec = (ip: string) => ({ type: "ClusterSetIP", ips: [ip], ports: [{ name: "http", port: 80 }] });
    const pods = ["10.1.0.1", "10.2.0.1", "10.2.0.2"];
    await west.admin.apply(serviceImport("shop", "web", spec("10.200.0.1")));
    await eventualAnswer(gateway, "web.shop", "A", { view: "west" }).toEqual(["10.200.0.1"]);
    expect(await answered(gateway, "web.shop")).toEqual(pods);
    await east.admin.apply(serviceImport("shop", "web", spec("10.100.0.1")));
    await eventualAnswer(gateway, "web.shop").toEqual(["10.100.0.1", "10.200.0.1"]);
    for (const { admin } of [east, west])
      await admin.remove(serviceImport("shop", "web", spec("10.200.0.1")));
    await eventualAnswer(gateway, "web.shop").toEqual(pods);
  });

  test("without the oldest export the other one wins; a new export is the newest", async () => {
    await east.admin.remove(serviceExport("shop", "pay"));
    await eventualAnswer(gateway, "pay.shop").toEqual(["10.2.0.20"]);
    expect(await answered(gateway, "10-2-0-20.west.pay.shop")).toEqual(["10.2.0.20"]);
    expect(await answered(gateway, "_http._tcp.pay.shop", "SRV")).toBe("NXDOMAIN");

    await east.admin.apply(...exported("shop", "pay", { endpoints: ["10.1.0.20"] }));
    await eventually(async () => {
      const { conflicts } = await gateway.clusterStatus<{ conflicts: { reason: string; winner: string }[] }>(
        "west",
      );
      return conflicts.filter(({ reason }) => reason === "TypeConflict").map(({ winner }) => winner);
    }).toEqual(["west"]);
    await eventualAnswer(gateway, "pay.shop").toEqual(["10.1.0.20", "10.2.0.20"]);
  });
});
