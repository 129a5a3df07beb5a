import { afterAll, beforeAll, expect, test } from "vitest";
import { exported, slices } from "../commands/exported.ts";
import { answered, eventually } from "../harness/answers.ts";
import { kubeconfigOfControl } from "../harness/infra.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { namespace } from "../servers/kubernetes/objects.ts";
import { FaultProxy } from "../servers/network.ts";
import { waitFor } from "../servers/wait.ts";
import { expectOnlyOwnAndNeededWrites, writesAfter } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects, untilEndpoints } from "./objects.ts";

/** Seconds. East's is longer, so that it holds while the clock passes west's. */
const LEASES = { east: 60, west: 20 };
/** Of the gateway and both workers. */
const clock = new MovedClock({ timers: true });
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
    startGateway({
      clusters: ["east", "west"],
      control: ["east", "west"],
      leaseSeconds: LEASES.west,
      env: clock.env,
    }),
    startApiServer({ name: "east" }),
    startApiServer({ name: "west" }),
  ]);
  network = await FaultProxy.start(Number(new URL(gateway.url).port));
  [inEast, inWest] = [lookAt(east, "shop"), lookAt(west, "shop")];
  await east.admin.apply(namespace("shop"), ...exported("shop", "web", { endpoints: ["10.1.0.1"] }));
  await west.admin.apply(namespace("shop"), ...exported("shop", "web", { endpoints: ["10.2.0.1"] }));
  const throughNetwork = { ...gateway, url: `https://127.0.0.1:${network.port}` };
  const start = async (server: ApiServer, clusterId: "east" | "west", gateways: GatewayProcess[]) =>
    startSync({
      clusterId,
      gateways,
      kubeconfig: await kubeconfigOfControl(server),
      args: ["--control", "--lease", String(LEASES[clusterId])],
      env: clock.env,
    });
  workers = [await start(east, "east", [gateway]), await start(west, "west", [throughNetwork])];
  for (const objects of [inEast, inWest]) await untilEndpoints(objects, "web", BOTH);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await network?.close();
  await Promise.all([gateway?.stop(), east?.stop(), west?.stop()]);
});

const BOTH = ["east 10.1.0.1", "west 10.2.0.1"];
/** As often as a leader renews its Lease; twice that is too long for it. */
const RENEWAL = 5000;

/**
 * Passes the time until both workers have renewed the Leases by which they lead, so that neither gives up.
 */
async function passRenewal(): Promise<void> {
  const renewals = ({ writes }: ApiServer) =>
    writes().filter(({ resource, code }) => resource === "leases" && code < 300).length;
  const before = [renewals(east), renewals(west)] as const;
  clock.pass(RENEWAL);
  await waitFor("both workers to renew", () => renewals(east) > before[0] && renewals(west) > before[1]);
}

/** The ready endpoints before long, while time passes. */
const soon = (objects: Objects) =>
  eventually(async () => {
    await passRenewal();
    return objects.endpoints("web");
  });

test.each([
  ["is refused", () => network.refuse()],
  ["carries nothing any more", () => network.swallow()],
])(
  "while the network of a cluster %s, each side keeps its own slices and loses the other's with their leases",
  async (_, fail) => {
    const before = Date.now();
    await fail();
    const { expiresAt } = await gateway.clusterStatus<{ expiresAt: number }>("west");
    const held = [await inEast.endpoints("web"), await inWest.endpoints("web")];
    // A lease is short, and the time of a busy machine counts as well.
    if (clock.now() < expiresAt) expect(held).toEqual([BOTH, BOTH]);
    await soon(inEast).toEqual(["east 10.1.0.1"]);
    expect(clock.now()).toBeGreaterThanOrEqual(expiresAt);
    await soon(inWest).toEqual(["west 10.2.0.1"]);
    expect(await inWest.import("web")).toBeDefined();
    await eventually(() => answered(gateway, "web.shop")).toEqual(["10.1.0.1"]);
    for (const server of [east, west]) {
      const removed = () =>
        writesAfter(server, before).flatMap(({ verb, code, name }) =>
          verb === "delete" && code < 300 ? [name] : [],
        );
      await eventually(() => new Set(removed()).size).toBe(1);
    }
    await east.admin.apply(...slices("shop", "web", { endpoints: ["10.1.0.2"] }));
    await network.heal();
    for (const objects of [inEast, inWest]) await soon(objects).toEqual(["east 10.1.0.2", "west 10.2.0.1"]);
    await east.admin.apply(...slices("shop", "web", { endpoints: ["10.1.0.1"] }));
    for (const objects of [inEast, inWest]) await eventualEndpoints(objects, "web").toEqual(BOTH);
  },
);

test("in all of this no worker wrote what is not the control plane's, and nothing that was so already", () => {
  for (const server of [east, west]) expectOnlyOwnAndNeededWrites(server);
});
