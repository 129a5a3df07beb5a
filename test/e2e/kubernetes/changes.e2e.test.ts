import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exported, slices, world } from "../commands/exported.ts";
import { acceptedPushes, answered, eventualAnswer, eventually, untilLive } from "../harness/answers.ts";
import type { GatewayProcess } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { serviceExport } from "../servers/kubernetes/objects.ts";

const pg = { name: "pg", port: 5432 };

describe("changes in two clusters reach the answers as deltas", () => {
  let clusters: SyncedClusters<"east" | "west">;
  let east: ApiServer;
  let west: ApiServer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    const fill = (server: ApiServer, net: string) =>
      server.admin.apply(
        ...world("shop", {
          web: { endpoints: [`${net}.0.1`, `${net}.0.2`] },
          db: { headless: true, port: pg, endpoints: [`${net}.0.10`, `${net}.0.11`] },
          early: {
            headless: true,
            spec: { publishNotReadyAddresses: true },
            endpoints: [{ address: `${net}.0.30`, ready: false }],
          },
        }),
        ...world("doomed", { left: { endpoints: [`${net}.0.40`] } }),
      );
    clusters = await startSyncedClusters(["east", "west"], (servers) =>
      Promise.all([fill(servers.east, "10.1"), fill(servers.west, "10.2")]),
    );
    ({
      servers: { east, west },
      gateway,
    } = clusters);
    await untilLive(gateway, 2);
  });

  afterAll(() => clusters?.stop());

  test("removes an address while it is not ready, only by deltas", async () => {
    // A push is counted when it is acknowledged, shortly after its change is answered.
    await eventually(async () => (await acceptedPushes(gateway)).full).toBeGreaterThanOrEqual(2);
    const before = await acceptedPushes(gateway);
    const options = { headless: true, port: pg };
    const flip = (ready: boolean) => [{ address: "10.1.0.10", ready }, "10.1.0.11"];
    expect(await answered(gateway, "db.shop")).toEqual(["10.1.0.10", "10.1.0.11", "10.2.0.10", "10.2.0.11"]);
    await east.admin.apply(...slices("shop", "db", { ...options, endpoints: flip(false) }));
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.11", "10.2.0.10", "10.2.0.11"]);
    expect(await answered(gateway, "10-1-0-10.east.db.shop")).toBe("NXDOMAIN");
    await east.admin.apply(...slices("shop", "db", { ...options, endpoints: flip(true) }));
    await eventualAnswer(gateway, "10-1-0-10.east.db.shop").toEqual(["10.1.0.10"]);
    await eventually(async () => (await acceptedPushes(gateway)).delta).toBeGreaterThanOrEqual(
      before.delta + 2,
    );
    expect((await acceptedPushes(gateway)).full).toBe(before.full);
  });

  test("publishNotReadyAddresses keeps an address that is not ready", async () => {
    expect(await answered(gateway, "early.shop")).toEqual(["10.1.0.30", "10.2.0.30"]);
  });

  test("follows added and removed endpoints", async () => {
    const options = { headless: true, port: pg };
    const three = ["10.2.0.10", "10.2.0.11", "10.2.0.12"];
    await west.admin.apply(...slices("shop", "db", { ...options, endpoints: three }));
    await eventualAnswer(gateway, "10-2-0-12.west.db.shop").toEqual(["10.2.0.12"]);
    await west.admin.apply(...slices("shop", "db", { ...options, endpoints: ["10.2.0.12"] }));
    await eventualAnswer(gateway, "db.shop").toEqual(["10.1.0.10", "10.1.0.11", "10.2.0.12"]);
  });

  test("without a ready endpoint a headless name does not exist, and a ClusterSetIP name has no address", async () => {
    const none = (net: string) => [{ address: `${net}.0.10`, ready: false }];
    for (const [server, net] of [
      [east, "10.1"],
      [west, "10.2"],
    ] as const)
      await server.admin.apply(
        ...slices("shop", "db", { headless: true, port: pg, endpoints: none(net) }),
        ...slices("shop", "web", { endpoints: none(net) }),
      );
    await eventualAnswer(gateway, "db.shop").toBe("NXDOMAIN");
    await eventualAnswer(gateway, "web.shop").toBe("NODATA");
    // A port of a name without an address leads nowhere.
    expect(await answered(gateway, "_http._tcp.web.shop", "SRV")).toBe("NODATA");
  });

  test("after the un-export of one cluster the other's addresses stay; after the last one the name is NXDOMAIN", async () => {
    await east.admin.apply(...exported("shop", "gone", { endpoints: ["10.1.0.50"] }));
    await west.admin.apply(...exported("shop", "gone", { endpoints: ["10.2.0.50"] }));
    await eventualAnswer(gateway, "gone.shop").toEqual(["10.1.0.50", "10.2.0.50"]);
    await east.admin.remove(serviceExport("shop", "gone"));
    await eventualAnswer(gateway, "gone.shop").toEqual(["10.2.0.50"]);
    await west.admin.remove(serviceExport("shop", "gone"));
    await eventualAnswer(gateway, "gone.shop").toBe("NXDOMAIN");
  });

  test("a Terminating namespace is answered and updated; its names do not exist after its deletion, even with leftover objects", async () => {
    await east.admin.terminateNamespace("doomed");
    const phase = (await east.admin.api("GET", "/api/v1/namespaces/doomed")).status;
    expect(phase).toMatchObject({ phase: "Terminating" });
    await east.admin.apply(...slices("doomed", "left", { endpoints: ["10.1.0.41"] }));
    await eventualAnswer(gateway, "left.doomed").toEqual(["10.1.0.41", "10.2.0.40"]);
    await east.admin.deleteNamespace("doomed");
    await eventualAnswer(gateway, "left.doomed").toEqual(["10.2.0.40"]);
    // For east itself there is no such namespace.
    expect(await answered(gateway, "left.doomed", "A", { view: "east" })).toBe("NXDOMAIN");
    await west.admin.deleteNamespace("doomed");
    await eventualAnswer(gateway, "left.doomed").toBe("NXDOMAIN");
    expect(await west.admin.get(serviceExport("doomed", "left"))).toBeDefined();
  });
});
