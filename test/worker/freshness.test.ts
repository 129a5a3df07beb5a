import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import type { SyncWorkerOptions } from "../../src/worker/sync.ts";
import { namespace, ofService, service, serviceExport, slice } from "../extract/objects.ts";
import { stopClock } from "../hosts/server/stopped-clock.ts";
import { until } from "../until.ts";
import type { ApiServerDouble } from "./api-server-double.ts";
import type { GatewayDouble } from "./gateway-double.ts";
import { WorkerWorld } from "./worker-world.ts";

const EXPORTS = "/apis/multicluster.x-k8s.io/serviceexports";
const SLICES = "/apis/discovery.k8s.io/endpointslices";
const SERVICES = "/api/services";

let world: WorkerWorld;
let api: ApiServerDouble;
let gateway: GatewayDouble;

beforeEach(async () => {
  world = new WorkerWorld();
  api = await world.startApi();
  gateway = await world.startGateway();
  api.put("/api/namespaces", namespace("shop"));
  api.put(SERVICES, service("shop/web"));
  api.put(EXPORTS, serviceExport("shop/web"));
  api.put(SERVICES, service("shop/unrelated"));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function start(more: Partial<SyncWorkerOptions> = {}) {
  let worker!: ReturnType<WorkerWorld["open"]>;
  world.run((signal) => {
    worker = world.open(more, signal);
    return worker.run();
  });
  return worker;
}

const [SLICE, ADDRESSES] = ["shop/web-1", 250];
const addressOf = (change: number) => `10.0.${Math.floor(change / ADDRESSES)}.${change % ADDRESSES}`;
const change = (number: number) =>
  api.put(SLICES, slice(SLICE, ofService("web"), [{ addresses: [addressOf(number)] }]));
function heldBy(gateway: GatewayDouble): string {
  const groups = Object.values(gateway.held.get("east")?.snapshot.exports["shop/web"]?.endpoints ?? {});
  const members = groups.flatMap((group) => Object.values(group.members));
  return members.map(({ address }) => address).join();
}
const reaches = (gateway: GatewayDouble, number: number) =>
  until(() => expect(heldBy(gateway)).toBe(addressOf(number)));
/** Starts a worker that has pushed, and watches. */
async function startWatching() {
  change(0);
  const worker = start();
  await reaches(gateway, 0);
  await until(() => expect([SLICES, SERVICES].map((path) => api.watchers(path))).toEqual([1, 1]));
  return worker;
}

test("a change is pushed without a timer, also while other objects change often", async () => {
  await startWatching();
  // From here on no timer fires.
  vi.useFakeTimers({ toFake: ["setTimeout", "setInterval"] });
  for (let number = 1; number <= 5; number++) {
    change(number);
    for (let turn = 0; heldBy(gateway) !== addressOf(number); turn++) {
      if (turn % 10 === 0)
        api.put(SERVICES, service("shop/unrelated", { ports: [{ port: (turn % 1000) + 1 }] }));
      await new Promise(setImmediate);
    }
  }
  expect(gateway.verbs).toEqual(["PUT snapshot", ...Array(5).fill("PATCH snapshot")]);
});

test.each([
  ["while a push is in flight", true],
  ["between two attempts at a gateway", false],
])("thousands of changes %s are extracted once", async (_, isInFlight) => {
  const worker = await startWatching();
  const acknowledged = Promise.withResolvers<void>();
  const pass = isInFlight ? undefined : stopClock();
  if (isInFlight) gateway.answersAfter = acknowledged.promise;
  else gateway.error = () => ({ status: 503, code: "BUSY" });
  change(1);
  await until(() => expect(gateway.seen.length).toBe(2));
  if (!isInFlight) await until(() => expect(worker.status().gateways[0]!.failure).toBe("BUSY"));
  const extracted = vi.spyOn(SnapshotAssembler.prototype, "refresh");
  const taken = vi.spyOn(SnapshotAssembler.prototype, "upsert");
  for (let number = 2; number < 3000; number++) change(number);
  await until(() => expect(taken.mock.calls.length).toBe(2998));
  expect(extracted).not.toHaveBeenCalled();
  gateway.error = () => undefined;
  acknowledged.resolve();
  pass?.(1000);
  if (!isInFlight) change(3000);
  await reaches(gateway, isInFlight ? 2999 : 3000);
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "PATCH snapshot"]);
  expect(extracted.mock.calls.length).toBeLessThan(5);
});

test("a gateway that is slow to acknowledge does not delay another", async () => {
  const [slow, quick] = [gateway, await world.startGateway()];
  await startWatching();
  await reaches(quick, 0);
  const acknowledged = Promise.withResolvers<void>();
  slow.answersAfter = acknowledged.promise;
  for (let number = 1; number <= 3; number++) {
    change(number);
    await reaches(quick, number);
  }
  expect(slow.verbs).toEqual(["PUT snapshot", "PATCH snapshot"]);
  acknowledged.resolve();
  await reaches(slow, 3);
  expect(slow.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "PATCH snapshot"]);
});

test("a resource that is listed again does not delay changes of the others, and keeps what it had until its list is whole", async () => {
  await startWatching();
  const listed = Promise.withResolvers<void>();
  api.beforePage = ({ pathname }) => (pathname.endsWith("/services") ? listed.promise : undefined);
  const before = api.seen.length;
  // The Service is deleted unseen; every resource is listed again.
  api.compact(() => api.remove(SERVICES, "shop/web"));
  change(1);
  await reaches(gateway, 1);
  change(2);
  await reaches(gateway, 2);
  expect(api.seen.slice(before).filter((url) => url.startsWith("/api/v1/services?limit"))).toHaveLength(1);
  expect(Object.keys(gateway.held.get("east")!.snapshot.findings)).toEqual([]);
  listed.resolve();
  await until(() => expect(heldBy(gateway)).toBe(""));
  expect(gateway.verbs.filter((verb) => verb === "PUT snapshot")).toHaveLength(1);
});

test("a worker reports to every gateway that the cluster lost its id, and that it has one again", async () => {
  const gateways = [gateway, await world.startGateway()];
  const system = namespace("kube-system", { uid: "east" });
  api.put("/api/namespaces", system);
  const reported = (reasons: readonly string[]) =>
    until(() => {
      for (const { seen } of gateways) {
        const degraded = (seen.at(-1)?.degraded ?? []) as { reason: string }[];
        expect(degraded.map(({ reason }) => reason)).toEqual(reasons);
      }
    });
  start({ clusterId: undefined });
  await until(() => expect(gateways.map(({ held }) => held.size)).toEqual([1, 1]));
  api.remove("/api/namespaces", "undefined/kube-system");
  await reported(["CLUSTER_ID_UNKNOWN"]);
  api.put("/api/namespaces", system);
  await reported([]);
});
