import { afterAll, beforeAll, expect, test } from "vitest";
import { exported, slices } from "../commands/exported.ts";
import { eventualAnswer } from "../harness/answers.ts";
import { kubeconfigOfControl } from "../harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { namespace } from "../servers/kubernetes/objects.ts";
import { FaultProxy } from "../servers/network.ts";
import { countWrites, expectOnlyOwnAndNeededWrites, writesTo } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects, untilEndpoints } from "./objects.ts";

/** Seconds: a worker that is held up for half of it renews in time. */
const LEASE = 20;
let gateway: GatewayProcess;
/** Between west's worker and the gateway. */
let network: FaultProxy;
let east: ApiServer;
let west: ApiServer;
let workers: SyncProcess[] = [];
let inEast: Objects;
let inWest: Objects;

beforeAll(async () => {
  [gateway, east, west] = await Promise.all([
    startGateway({ clusters: ["east", "west"], control: ["east", "west"], leaseSeconds: LEASE }),
    startApiServer({ name: "east" }),
    startApiServer({ name: "west" }),
  ]);
  network = await FaultProxy.start(Number(new URL(gateway.url).port));
  [inEast, inWest] = [lookAt(east, "shop"), lookAt(west, "shop")];
  await east.admin.apply(namespace("shop"), ...exported("shop", "web", { endpoints: ["10.1.0.1"] }));
  await west.admin.apply(namespace("shop"), ...exported("shop", "web", { endpoints: ["10.2.0.1"] }));
  const throughNetwork = { ...gateway, url: `https://127.0.0.1:${network.port}` };
  const start = async (server: ApiServer, clusterId: string, gateways: GatewayProcess[]) =>
    startSync({
      ...{ clusterId, gateways, kubeconfig: await kubeconfigOfControl(server) },
      args: ["--control", "--lease", String(LEASE)],
    });
  workers = [await start(east, "east", [gateway]), await start(west, "west", [throughNetwork])];
  await untilEndpoints(inEast, "web", ["east 10.1.0.1", "west 10.2.0.1"]);
  await untilEndpoints(inWest, "web", ["east 10.1.0.1", "west 10.2.0.1"]);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await network?.close();
  await Promise.all([gateway?.stop(), east?.stop(), west?.stop()]);
});

test("while a cluster cannot reach the gateway, each side keeps its own slices and loses the other's with their leases", async () => {
  const since = Date.now();
  const before = [east, west].map(countWrites);
  await network.refuse();
  await eventualEndpoints(inEast, "web").toEqual(["east 10.1.0.1"]);
  await eventualEndpoints(inWest, "web").toEqual(["west 10.2.0.1"]);
  expect(await inWest.import("web")).toBeDefined();
  await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);
  for (const [index, server] of [east, west].entries()) {
    const removals = server
      .writes()
      .slice(before[index])
      .filter(({ verb, code }) => verb === "delete" && code < 300);
    expect(new Set(removals.map(({ name }) => name)).size).toBe(1);
    // A lease that was renewed just before holds for at least two thirds of its time.
    expect(removals[0]!.at - since).toBeGreaterThan((LEASE * 1000) / 3);
  }
  await east.admin.apply(...slices("shop", "web", { endpoints: ["10.1.0.2"] }));
  await network.heal();
  await eventualEndpoints(inEast, "web").toEqual(["east 10.1.0.2", "west 10.2.0.1"]);
  await eventualEndpoints(inWest, "web").toEqual(["east 10.1.0.2", "west 10.2.0.1"]);
  await east.admin.apply(...slices("shop", "web", { endpoints: ["10.1.0.1"] }));
  await eventualEndpoints(inWest, "web").toEqual(["east 10.1.0.1", "west 10.2.0.1"]);
});

test("connections that carry nothing any more count as lost: leases expire as without a network, and the next connections bring everything back", async () => {
  network.swallow();
  await eventualEndpoints(inEast, "web").toEqual(["east 10.1.0.1"]);
  await eventualEndpoints(inWest, "web").toEqual(["west 10.2.0.1"]);
  await network.heal();
  await eventualEndpoints(inEast, "web").toEqual(["east 10.1.0.1", "west 10.2.0.1"]);
  await eventualEndpoints(inWest, "web").toEqual(["east 10.1.0.1", "west 10.2.0.1"]);
});

test("a worker that starts again while the gateway is away removes others' slices after a lease's time, and its own never", async () => {
  await gateway.kill();
  const before = countWrites(west);
  await workers[1]!.restart();
  await eventualEndpoints(inWest, "web").toEqual(["west 10.2.0.1"]);
  expect(writesTo(west, before)).toEqual([expect.stringMatching(/^delete endpointslices shop\/web-/)]);
  await gateway.restart();
  await eventualEndpoints(inWest, "web").toEqual(["east 10.1.0.1", "west 10.2.0.1"]);
});

test("in all of this no worker wrote what is not the control plane's, and nothing that was so already", () => {
  for (const server of [east, west]) expectOnlyOwnAndNeededWrites(server);
});
