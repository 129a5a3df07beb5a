import { afterAll, beforeAll, expect, test } from "vitest";
import { extendedErrors } from "../../../resolve/extended-errors.ts";
import { answered, eventually, metric } from "../../harness/answers.ts";
import { MovedClock } from "../../harness/moved-clock.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { Engine } from "./harness/engine.ts";
import { Gateways } from "./harness/gateways.ts";
import { generationOf, put, renew } from "./harness/push-requests.ts";
import { ClusterHistory } from "./harness/pushed-states.ts";

/** By the engine's clock, too, which is not moved. */
const LEASE_SECONDS = 20;
/** For how long leases hold after their end while the engine is gone. */
const HOLD_SECONDS = 600;
const clock = new MovedClock();
const STALE = 3;
const NAMES = ["east", "west"] as const;

let engine: Engine;
let gateways: Gateways;
let a: GatewayProcess;
let b: GatewayProcess;

beforeAll(async () => {
  const histories = NAMES.map((clusterId, index) => new ClusterHistory(clusterId, index + 1));
  const store = { leaseHoldSeconds: HOLD_SECONDS };
  engine = await Engine.start();
  const connect = () => engine.connect();
  const { env } = clock;
  gateways = await Gateways.start({ count: 2, connect, histories, leaseSeconds: LEASE_SECONDS, store, env });
  [a, b] = gateways.members.map(({ gateway }) => gateway) as [GatewayProcess, GatewayProcess];
});

afterAll(async () => {
  await gateways?.stop();
  await engine?.stop();
});

const both = <Value>(probe: (gateway: GatewayProcess) => Promise<Value>) => Promise.all([probe(a), probe(b)]);
const twice = <Value>(value: Value) => [value, value];
const answers = (name: string) => both((gateway) => answered(gateway, `${name}.shop`));
const staleness = () =>
  both(
    async (gateway) => extendedErrors((await gateway.query("east.shop.svc.clusterset.local", "A")).raw)[0],
  );
const readiness = () =>
  both(async (gateway) => {
    const { status, text } = await gateway.http("/readyz");
    return `${status} ${text.trim()}`;
  });
const servicesOf = (name: string, host: number) => ({ [name]: { addresses: [`10.1.0.${host}`] } });

/**
 * Pushes both clusters in full until both gateways answer from that: the engine may not take it yet, and a
 * lease may expire on the way.
 */
async function pushAll(host: number, leaseSeconds = LEASE_SECONDS): Promise<void> {
  await eventually(async () => {
    for (const [index, name] of NAMES.entries())
      await put([a, b][index]!, name, servicesOf(name, host), leaseSeconds);
    return Promise.all(NAMES.map(answers));
  }).toEqual(twice(twice([`10.1.0.${host}`])));
}

test("while the engine is gone gateways answer beyond leases, say so, and reject pushes with 503", async () => {
  await pushAll(1);
  const { generation } = await a.clusterStatus<{ generation: number }>("east");
  expect(await staleness()).toEqual(twice(undefined));
  await engine.kill();
  for (let passed = 0; passed < 2 * LEASE_SECONDS; passed += LEASE_SECONDS / 4) {
    clock.pass((LEASE_SECONDS / 4) * 1000);
    for (const to of [a, b]) {
      const refused = await put(to, "east", servicesOf("east", 2), LEASE_SECONDS);
      expect([refused.status, refused.json(), Number(refused.headers["retry-after"])]).toEqual([
        503,
        { code: "STORE_FAILED", message: expect.stringMatching(/Valkey or Redis/) },
        expect.any(Number),
      ]);
      expect((await renew(to, "east", generation, LEASE_SECONDS)).status).toBe(503);
    }
    expect([await answers("east"), await answers("west")]).toEqual(twice(twice(["10.1.0.1"])));
  }
  expect(await staleness()).toEqual(twice(STALE));
  await eventually(readiness).toEqual(twice(expect.stringMatching(/^200 ready: 2 of 2 .*Valkey or Redis/)));
  expect(await both((gateway) => metric(gateway, "clusterset_doh_store_failing"))).toEqual(twice(1));
});

test("when the engine is back, gateways follow it again and leases that nobody renews end", async () => {
  await engine.startAgain();
  await eventually(async () => (await put(b, "east", servicesOf("east", 3), 600)).status).toBe(200);
  await eventually(() => answers("east")).toEqual(twice(["10.1.0.3"]));
  await eventually(() => answers("west")).toEqual(twice("NXDOMAIN"));
  await eventually(staleness).toEqual(twice(undefined));
  await eventually(readiness).toEqual(twice(expect.stringMatching(/^200 ready: 1 of 2 [^;]*$/)));
});

test("leases end after the configured time, also while the engine is gone", async () => {
  await pushAll(4);
  await engine.kill();
  clock.pass((LEASE_SECONDS + HOLD_SECONDS) * 1000);
  await eventually(() => answers("east")).toEqual(twice("SERVFAIL"));
  await eventually(readiness).toEqual(twice(expect.stringMatching(/^503 not ready/)));
  await engine.startAgain();
  await pushAll(5);
});

test("a gateway whose own link is gone goes on answering, and has what it missed when it is back", async () => {
  await pushAll(6, 600);
  const link = gateways.members[1]!.link!;
  for (const [host, fail] of [
    [7, () => link.swallow()],
    [8, () => link.refuse()],
  ] as const) {
    await fail();
    generationOf(await put(a, "east", servicesOf("east", host), 600));
    expect(await answered(a, "east.shop")).toEqual([`10.1.0.${host}`]);
    await eventually(async () => (await staleness())[1]).toBe(STALE);
    expect(await answered(b, "east.shop")).toEqual([`10.1.0.${host - 1}`]);
    expect((await put(b, "west", servicesOf("west", host), 600)).status).toBe(503);
    await link.heal();
    // Its worker sends it again, to the other one: with that nothing is missing here.
    generationOf(await put(a, "west", servicesOf("west", host), 600));
    await eventually(() => answers("east")).toEqual(twice([`10.1.0.${host}`]));
    await eventually(() => answers("west")).toEqual(twice([`10.1.0.${host}`]));
    await eventually(staleness).toEqual(twice(undefined));
  }
});
