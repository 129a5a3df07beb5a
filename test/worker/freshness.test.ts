import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SnapshotAssembler } from "../../src/extract/extract.ts";
import { openSyncWorker } from "../../src/worker/sync.ts";
import { namespace, ofService, service, serviceExport, slice } from "../extract/objects.ts";
import { stopClock } from "../hosts/server/stopped-clock.ts";
import { until } from "../until.ts";
import { ApiServerDouble } from "./api-server-double.ts";
import { GatewayDouble } from "./gateway-double.ts";
import { KeptLogs } from "./logs.ts";

const EXPORTS = "/apis/multicluster.x-k8s.io/serviceexports";
const SLICES = "/apis/discovery.k8s.io/endpointslices";
const SERVICES = "/api/services";

let folder: string;
let api: ApiServerDouble;
let gateways: GatewayDouble[];
let stop: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "freshness-"));
  api = await new ApiServerDouble().start();
  gateways = [await new GatewayDouble().start()];
  stop = new AbortController();
  await writeFile(join(folder, "kubeconfig"), api.kubeconfig);
  api.put("/api/namespaces", namespace("shop"));
  api.put(SERVICES, service("shop/web"));
  api.put(EXPORTS, serviceExport("shop/web"));
  api.put(SERVICES, service("shop/unrelated"));
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  stop.abort();
  await running;
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await api.stop();
  await rm(folder, { recursive: true });
});

function start() {
  const worker = openSyncWorker({
    source: { kind: "kubernetes", kubeconfig: join(folder, "kubeconfig") },
    clusterId: "east",
    gateways: gateways.map(({ url }) => url),
    token: "secret",
    once: false,
    signal: stop.signal,
    logger: new KeptLogs(),
  });
  running = worker.run();
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
const watched = () =>
  until(() => expect([SLICES, SERVICES].map((path) => api.watchers(path))).toEqual([1, 1]));

test("a change is pushed without a timer, also while other objects change often", async () => {
  const gateway = gateways[0]!;
  change(0);
  start();
  await reaches(gateway, 0);
  await watched();
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

test("thousands of changes while a push is in flight are extracted once", async () => {
  const gateway = gateways[0]!;
  change(0);
  start();
  await reaches(gateway, 0);
  await watched();
  const acknowledged = Promise.withResolvers<void>();
  gateway.answersAfter = acknowledged.promise;
  change(1);
  await until(() => expect(gateway.seen.length).toBe(2));
  const extracted = vi.spyOn(SnapshotAssembler.prototype, "refresh");
  const taken = vi.spyOn(SnapshotAssembler.prototype, "upsert");
  for (let number = 2; number < 3000; number++) change(number);
  await until(() => expect(taken.mock.calls.length).toBe(2998));
  expect(extracted).not.toHaveBeenCalled();
  acknowledged.resolve();
  await reaches(gateway, 2999);
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "PATCH snapshot"]);
  expect(extracted.mock.calls.length).toBeLessThan(5);
});

test("thousands of changes between two attempts at a gateway are extracted once", async () => {
  const gateway = gateways[0]!;
  change(0);
  const worker = start();
  await reaches(gateway, 0);
  await watched();
  const pass = stopClock();
  gateway.error = () => ({ status: 503, code: "BUSY" });
  change(1);
  await until(() => expect(worker.status().gateways[0]!.failure).toBe("BUSY"));
  const extracted = vi.spyOn(SnapshotAssembler.prototype, "refresh");
  const taken = vi.spyOn(SnapshotAssembler.prototype, "upsert");
  for (let number = 2; number < 3000; number++) change(number);
  await until(() => expect(taken.mock.calls.length).toBe(2998));
  expect(extracted).not.toHaveBeenCalled();
  gateway.error = () => undefined;
  pass(1000);
  change(3000);
  await reaches(gateway, 3000);
  expect(gateway.verbs).toEqual(["PUT snapshot", "PATCH snapshot", "PATCH snapshot"]);
  expect(extracted.mock.calls.length).toBeLessThan(5);
});

test("a gateway that is slow to acknowledge does not delay another", async () => {
  gateways.push(await new GatewayDouble().start());
  const [slow, quick] = gateways as [GatewayDouble, GatewayDouble];
  change(0);
  start();
  await Promise.all([reaches(slow, 0), reaches(quick, 0)]);
  await watched();
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
  const gateway = gateways[0]!;
  change(0);
  start();
  await reaches(gateway, 0);
  await watched();
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
