import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exported, slices, world } from "../commands/exported.ts";
import { acceptedPushes, answered, eventualAnswer, eventually, untilAnswered } from "../harness/answers.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import type { GatewayProcess, SyncProcess } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { serviceExport } from "../servers/kubernetes/objects.ts";

const LEASE_SECONDS = 600;
const STALE_AFTER_SECONDS = 3600;

describe("a worker survives outages of its API server", () => {
  let clusters: SyncedClusters<"east">;
  let server: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess;
  /** Of the worker. */
  const clock = new MovedClock({ timers: true });
  const gatewayClock = new MovedClock();

  beforeAll(async () => {
    clusters = await startSyncedClusters(
      ["east"],
      ({ east }) => east.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.1"] } })),
      {
        env: clock.env,
        gateway: { env: gatewayClock.env, leaseSeconds: LEASE_SECONDS },
        args: () => ["--lease", String(LEASE_SECONDS), "--stale-after", String(STALE_AFTER_SECONDS)],
      },
    );
    server = clusters.servers.east;
    gateway = clusters.gateway;
    worker = clusters.workers.east;
    await untilAnswered(gateway, "web.shop", ["10.1.0.1"]);
  });

  afterAll(() => clusters?.stop());

  /** What the gateway answers before long, while the worker's pauses are cut short. */
  const soonAnswered = (name: string) => eventually(clock.passing(() => answered(gateway, name)));
  const serve = (...endpoints: string[]) => server.admin.apply(...slices("shop", "web", { endpoints }));

  test("the gateway shows an outage long before the lease could expire, and its end; the worker then follows changes, without a full push", async () => {
    const textOf = async (path: string) => (await gateway.http(path)).text;
    const gauge = /clusterset_doh_cluster_degraded_seconds\{cluster="east",reason="API_UNREACHABLE"\} [1-9]/;
    const begun = gateway.process.log().length;
    const { full } = await acceptedPushes(gateway);
    await server.process.kill();
    await eventually(clock.passing(() => textOf("/metrics"))).toMatch(gauge);
    expect(await textOf("/clusters")).toMatch(/live<.*>API server unreachable for \d+ (?:s|min)</);
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1"]);
    await server.process.start();
    // Until it has read its roles, an API server that has just started forbids what the worker asks.
    await eventually(clock.passing(() => textOf("/metrics"))).not.toContain("_degraded_seconds{");
    const reports = () =>
      gateway.process
        .log()
        .slice(begun)
        .match(/"event":"worker-(?:degraded","clusterId":"east","degraded":[^\]]*|recovered)/g)!;
    // Ten lines a minute: a server that forbade for long has used them up.
    await eventually(clock.passing(() => reports().at(-1))).toContain("recovered");
    const logged = reports();
    expect(logged[0]).toContain("API_UNREACHABLE");
    // Each of them once: renewals that repeat a report are not logged.
    expect(logged.filter((line, index) => line === logged[index - 1])).toEqual([]);
    await serve("10.1.0.2");
    await soonAnswered("web.shop").toEqual(["10.1.0.2"]);
    expect((await acceptedPushes(gateway)).full).toBe(full);
  });

  test("it notices created and deleted objects after a compaction (410 Gone)", async () => {
    await server.admin.apply(...exported("shop", "before", { endpoints: ["10.1.0.10"] }));
    await eventualAnswer(gateway, "before.shop").toEqual(["10.1.0.10"]);
    const known = await watchFrom(server);
    // Halted, the worker cannot watch again after the restart; when it can, the versions it knows are
    // history.
    worker.process.signal("SIGSTOP");
    await server.process.kill();
    await server.process.start();
    await server.admin.remove(serviceExport("shop", "before"));
    await server.admin.apply(...exported("shop", "after", { endpoints: ["10.1.0.11"] }));
    await serve("10.1.0.4");
    await server.process.kill();
    await server.compactEtcd();
    await server.process.start();
    await eventually(known).toContain('"code":410');
    worker.process.signal("SIGCONT");
    await soonAnswered("after.shop").toEqual(["10.1.0.11"]);
    await eventualAnswer(gateway, "before.shop").toBe("NXDOMAIN");
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.4"]);
    await serve("10.1.0.5");
    await soonAnswered("web.shop").toEqual(["10.1.0.5"]);
  });

  test("without its API server for longer than --stale-after it lets its lease expire", async () => {
    await server.process.kill();
    clock.pass(STALE_AFTER_SECONDS * 1000);
    await eventually(clock.passing(worker.log)).toContain("no longer renews its leases");
    gatewayClock.pass(LEASE_SECONDS * 1000);
    await eventualAnswer(gateway, "web.shop").toBe("SERVFAIL");
    await server.process.start();
    await soonAnswered("web.shop").toEqual(["10.1.0.5"]);
  });
});

/**
 * Takes the version that the EndpointSlices have now; what comes back watches them from there, for a second.
 */
async function watchFrom(server: ApiServer): Promise<() => Promise<string>> {
  const path = "/apis/discovery.k8s.io/v1/endpointslices";
  const list = await server.admin.api<{ metadata: { resourceVersion: string } }>("GET", `${path}?limit=1`);
  const query = `watch=1&timeoutSeconds=1&resourceVersion=${list.metadata.resourceVersion}`;
  return async () => JSON.stringify(await server.admin.api("GET", `${path}?${query}`).catch(String));
}
