import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { endpointSliceName } from "../../../src/worker/control/objects.ts";
import { desiredImport, desiredSlice, linesOf } from "../../worker/control/desired-lines.ts";
import { eventually } from "../harness/answers.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import type { SyncProcess } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { endpointSlice, namespace } from "../servers/kubernetes/objects.ts";
import { waitFor } from "../servers/wait.ts";
import { expectOnlyOwnAndNeededWrites, writesAfter } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects, untilEndpoints } from "./objects.ts";
import { type ScriptedGateway, startScriptedGateway, startWorkerOf } from "./scripted-gateway.ts";

let server: ApiServer;
let gateway: ScriptedGateway;
let objects: Objects;
/** Each with a token of its own, by which the audit log tells them apart. */
let one: SyncProcess;
let other: SyncProcess;
/** Of both. */
const clock = new MovedClock({ timers: true });

const LEADS = "leads: writes the objects of this cluster";

const desire = (address: string) => gateway.desire(linesOf(desiredImport(), { v4: desiredSlice(address) }));
/** The worker that wrote last, beside Leases and Events. */
const lastWriter = () =>
  server.writes().findLast(({ resource }) => resource !== "leases" && resource !== "events")?.credential;

/** By the audit log: nothing was tried to be written but by the worker that held the Lease then. */
function expectHolderWrites(): void {
  let holder: string | undefined;
  const others = server.writes().filter(({ resource, code, credential, response }) => {
    if (resource !== "leases") return credential !== holder;
    if (code < 300) holder = (response!.spec as { holderIdentity: string }).holderIdentity && credential;
    return false;
  });
  expect(others).toEqual([]);
}
const leaseWrites = () =>
  server
    .writes()
    .filter(({ resource, code }) => resource === "leases" && code < 300)
    .map(({ credential, response }) => ({ credential, ...(response!.spec as { holderIdentity: string }) }));
const lead = (worker: SyncProcess) => worker.log().split(LEADS).length - 1;

beforeAll(async () => {
  [server, gateway] = await Promise.all([startApiServer({ name: "b" }), startScriptedGateway()]);
  await server.admin.apply(namespace("shop"));
  objects = lookAt(server, "shop");
  desire("10.1.0.1");
  one = await startWorkerOf(gateway, server, { env: clock.env });
  await untilEndpoints(objects, "db", ["a 10.1.0.1"]);
  other = await startWorkerOf(gateway, server, { env: clock.env });
  await waitFor(
    "the other worker has listed",
    () => other.log().includes('"pushed"') || other.log().includes("listed"),
  );
});

afterEach(expectHolderWrites);

afterAll(async () => {
  await Promise.all([one?.stop(), other?.stop()]);
  await Promise.all([gateway?.stop(), server?.stop()]);
});

test("of two workers the one that holds the Lease writes; after kill -9 the other one does once the Lease has expired, also what was left undone", async () => {
  for (const address of ["10.1.0.2", "10.1.0.3"]) {
    desire(address);
    await eventualEndpoints(objects, "db").toEqual([`a ${address}`]);
  }
  expect(lead(one)).toBeGreaterThan(0);
  const before = lastWriter();
  const led = lead(other);
  await one.kill();
  desire("10.1.0.5");
  await server.admin.remove(endpointSlice("shop", endpointSliceName("db", "a", "v4"), { endpoints: [] }));
  await waitFor(
    "the other worker leads",
    clock.passing(() => lead(other) > led),
  );
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.5"]);
  await eventually(lastWriter).not.toBe(before);
  await one.restart();
  await waitFor("the killed worker runs again", () => one.log().split("listed").length > 2);
  desire("10.1.0.6");
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.6"]);
});

test("after SIGTERM the other one leads without waiting: the Lease names nobody", async () => {
  const before = leaseWrites().length;
  expect(await other.stop()).toBe(0);
  const [first, second] = await waitFor("the Lease's next holder", () => {
    const later = leaseWrites()
      .slice(before)
      .filter((_, index, all) => all[index - 1]?.holderIdentity !== all[index]!.holderIdentity);
    const from = later.findIndex(({ holderIdentity }) => holderIdentity === "");
    return from >= 0 && later.length > from + 1 && later.slice(from);
  });
  expect(second!.credential).not.toBe(first!.credential);
  desire("10.1.0.7");
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.7"]);
  await eventually(lastWriter).toBe(second!.credential);
  await other.restart();
});

test("a leader that was halted for longer than its Lease writes nothing when it goes on", async () => {
  const led = lead(other);
  one.process.signal("SIGSTOP");
  await waitFor(
    "the other worker leads",
    clock.passing(() => lead(other) > led),
  );
  desire("10.1.0.8");
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.8"]);
  const lost = one.log().split("does not lead any more").length;
  one.process.signal("SIGCONT");
  desire("10.1.0.9");
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.9"]);
  await waitFor("what the halted worker says", () => one.log().split("does not lead any more").length > lost);
});

test("a worker that leads again writes nothing of the state that it knew when it led before", async () => {
  const before = Date.now();
  gateway.hold();
  const led = lead(one);
  expect(await other.stop()).toBe(0);
  await waitFor("the first worker leads again", () => lead(one) > led);
  await waitFor("it asks for the desired state", () => gateway.held > 0);
  desire("10.1.0.10");
  gateway.release();
  await eventualEndpoints(objects, "db").toEqual(["a 10.1.0.10"]);
  const written = () =>
    writesAfter(server, before).flatMap(({ resource, response }) =>
      resource === "endpointslices"
        ? (response as unknown as { endpoints: { addresses: string[] }[] }).endpoints[0]!.addresses
        : [],
    );
  // A written object is seen before its write is logged.
  await eventually(written).toEqual(["10.1.0.10"]);
});

test("in all of this nothing was written twice, and nothing of others", async () => {
  await eventually(() => objects.endpoints("db")).toEqual(["a 10.1.0.10"]);
  expectOnlyOwnAndNeededWrites(server);
});
