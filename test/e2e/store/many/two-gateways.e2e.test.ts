import { rmSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answered, eventually } from "../../harness/answers.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { Engine } from "./harness/engine.ts";
import { Gateways } from "./harness/gateways.ts";
import { generationOf, leave, patch, put, renew, type Services } from "./harness/push-requests.ts";
import { ClusterHistory } from "./harness/pushed-states.ts";

const LEASE_SECONDS = 5;
const ids = Array.from({ length: 40 }, (_, index) => `cluster-${index}`);
const histories = ids.map((clusterId, index) => new ClusterHistory(clusterId, index));
let engine: Engine;
let gateways: Gateways;
let a: GatewayProcess;
let b: GatewayProcess;
/** Of which no test has pushed anything yet. */
let unused = 0;
let east: string;
let west: string;

beforeAll(async () => {
  engine = await Engine.start();
  const connect = () => engine.connect();
  gateways = await Gateways.start({ count: 2, connect, histories, leaseSeconds: LEASE_SECONDS });
  [a, b] = gateways.members.map(({ gateway }) => gateway) as [GatewayProcess, GatewayProcess];
});

afterAll(async () => {
  await gateways?.stop();
  await engine?.stop();
});

beforeEach(() => {
  [east, west] = ids.slice(unused, unused + 2) as [string, string];
  unused += 2;
});

const both = <Value>(probe: (gateway: GatewayProcess) => Promise<Value>) => Promise.all([probe(a), probe(b)]);

/** Waits until both have the same of the log, and the same root. */
async function alike(): Promise<void> {
  await eventually(async () => {
    const [one, other] = await Promise.all(gateways.members.map((member) => member.replica()));
    expect(other).toEqual(one);
    return typeof one?.position;
  }).toBe("number");
}

const reverseName = (address: string) => `${address.split(".").reverse().join(".")}.in-addr.arpa`;

describe("a push to one gateway", () => {
  test("is answered there once it is acknowledged, and soon by the other one", async () => {
    for (const [turn, to] of [a, b, a, b].entries()) {
      const address = `10.9.0.${turn}`;
      generationOf(await put(to, east, { [east]: { addresses: [address] } }));
      expect(await answered(to, `${east}.shop`)).toEqual([address]);
      await eventually(() => both((gateway) => answered(gateway, `${east}.shop`))).toEqual([
        [address],
        [address],
      ]);
    }
  });

  test("is what a delta to the other one builds on", async () => {
    let services: Services = { [east]: { addresses: ["10.9.0.1"] } };
    let generation = generationOf(await put(a, east, services));
    for (const [turn, to] of [b, a, a, b, b, a].entries()) {
      const after = { [east]: { addresses: [`10.9.1.${turn}`] } };
      await eventually(async () => (await to.clusterStatus(east)).generation).toBe(generation);
      generation = generationOf(await patch(to, east, generation, services, after));
      services = after;
      expect(await answered(to, `${east}.shop`)).toEqual([`10.9.1.${turn}`]);
    }
    await alike();
  });

  test("makes an older generation a mismatch at the other one, also before that one has it", async () => {
    const services: Services = { [east]: { addresses: ["10.9.0.1"] } };
    for (let turn = 0; turn < 10; turn++) {
      const first = generationOf(await put(a, east, services));
      await eventually(async () => (await b.clusterStatus(east)).generation).toBe(first);
      const changed = { [east]: { addresses: [`10.9.2.${turn}`] } };
      const second = generationOf(await patch(a, east, first, services, changed));
      const late = await patch(b, east, first, services, { [east]: { addresses: ["10.9.3.1"] } });
      expect([late.status, late.json()]).toEqual([
        409,
        expect.objectContaining({ code: "GENERATION_MISMATCH", details: { currentGeneration: second } }),
      ]);
      await eventually(() => answered(b, `${east}.shop`)).toEqual([`10.9.2.${turn}`]);
    }
  });

  test("of one generation wins against a push of the same one to the other gateway, and only one of both", async () => {
    let services: Services = { [east]: { addresses: ["10.9.0.1"] } };
    let generation = generationOf(await put(a, east, services));
    for (let turn = 0; turn < 20; turn++) {
      await eventually(() => both(async (one) => (await one.clusterStatus(east)).generation)).toEqual([
        generation,
        generation,
      ]);
      const states: Services[] = [1, 2].map((net) => ({ [east]: { addresses: [`10.9.${net}.${turn}`] } }));
      const answers = await Promise.all(
        [a, b].map((to, index) => patch(to, east, generation, services, states[index]!)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const won = answers.findIndex(({ status }) => status === 200);
      services = states[won]!;
      generation = generationOf(answers[won]!);
      const { addresses } = services[east]!;
      await eventually(() => both((one) => answered(one, `${east}.shop`))).toEqual([addresses, addresses]);
    }
    await alike();
  });
});

describe("a lease", () => {
  test("that is renewed at one gateway holds at both, and without a renewal ends at both", async () => {
    const { generation } = (await put(a, east, { [east]: { addresses: ["10.9.0.1"] } }, LEASE_SECONDS)).json<{
      generation: number;
    }>();
    await eventually(async () => (await b.clusterStatus(east)).generation).toBe(generation);
    const end = performance.now() + 2.5 * LEASE_SECONDS * 1000;
    while (performance.now() < end) {
      generationOf(await renew(b, east, generation, LEASE_SECONDS));
      expect(await both((gateway) => answered(gateway, `${east}.shop`))).toEqual([
        ["10.9.0.1"],
        ["10.9.0.1"],
      ]);
    }
    await eventually(() => both((gateway) => answered(gateway, `${east}.shop`))).toEqual([
      "NXDOMAIN",
      "NXDOMAIN",
    ]);
    const late = await renew(a, east, generation, LEASE_SECONDS);
    expect([late.status, late.json()]).toEqual([
      409,
      expect.objectContaining({ code: "GENERATION_MISMATCH" }),
    ]);
    await alike();
  });
});

describe("a cluster", () => {
  test("leaves both through either", async () => {
    for (const [from, at] of [
      [a, b],
      [b, a],
    ] as const) {
      generationOf(await put(a, east, { [east]: { addresses: ["10.9.0.1"] } }));
      await eventually(() => answered(b, `${east}.shop`)).toEqual(["10.9.0.1"]);
      expect((await leave(from, east)).status).toBe(204);
      expect(await answered(from, `${east}.shop`)).toBe("NXDOMAIN");
      await eventually(() => answered(at, `${east}.shop`)).toBe("NXDOMAIN");
    }
    await alike();
  });

  test("has a conflict with another one decided equally, whoever takes which push first", async () => {
    const names = Array.from({ length: 10 }, (_, index) => `${east}-${index}`);
    const of = (port: number, net: number): Services =>
      Object.fromEntries(names.map((name, index) => [name, { port, addresses: [`10.9.${net}.${index}`] }]));
    const pushes = await Promise.all([put(a, east, of(80, 4)), put(b, west, of(81, 5))]);
    pushes.map(generationOf);
    await alike();
    const conflicts = await both(
      async (gateway) => (await gateway.http("/status")).json<{ conflicts: { total: number } }>().conflicts,
    );
    expect(conflicts[1]).toEqual(conflicts[0]);
    expect(conflicts[0].total).toBeGreaterThanOrEqual(names.length);
  });

  test("has the reverse name of an address that it reported first, at both, and after both started again", async () => {
    const contested = Array.from({ length: 20 }, (_, index) => `10.8.${unused}.${index}`);
    const firstOf = (address: string) => (gateway: GatewayProcess) =>
      gateway.lookup(reverseName(address), "PTR");
    const names = () =>
      both((gateway) =>
        Promise.all(contested.map(async (address) => (await firstOf(address)(gateway)).values)),
      );
    // Some that one cluster surely reported first, and some that both report at once.
    const early = { [east]: { addresses: contested.slice(0, 5) } };
    const late = { [west]: { addresses: contested.slice(5, 10) } };
    generationOf(await put(a, east, early));
    generationOf(await put(b, west, late));
    await alike();
    const all = await Promise.all([
      put(a, east, { [east]: { addresses: contested } }),
      put(b, west, { [west]: { addresses: contested } }),
    ]);
    all.map(generationOf);
    await alike();
    const [before, other] = await names();
    expect(other).toEqual(before);
    expect(before!.slice(0, 10).map(([name]) => name?.includes(`${east}.shop`))).toEqual([
      ...Array(5).fill(true),
      ...Array(5).fill(false),
    ]);
    for (const member of gateways.members) await member.kill();
    for (const member of gateways.members) await member.restart();
    expect(await names()).toEqual([before, before]);
  });
});

describe("a gateway", () => {
  test("that starts without its disk answers at once from the log, also what it missed", async () => {
    generationOf(await put(a, east, { [east]: { addresses: ["10.9.0.1"] } }));
    await gateways.members[0]!.kill();
    rmSync(a.stateDir, { recursive: true, force: true });
    const generation = generationOf(await put(b, east, { [east]: { addresses: ["10.9.0.2"] } }));
    await gateways.members[0]!.restart();
    expect(await answered(a, `${east}.shop`)).toEqual(["10.9.0.2"]);
    generationOf(await renew(a, east, generation, 600));
    await alike();
  });
});
