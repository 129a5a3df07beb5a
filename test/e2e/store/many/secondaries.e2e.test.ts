import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDenoSecondary } from "../../durability/following/followers.ts";
import { answered, eventualAnswer, metric, untilAnswered } from "../../harness/answers.ts";
import type { GatewayClient } from "../../harness/gateway-client.ts";
import { Balancer } from "./harness/balancer.ts";
import { Engine } from "./harness/engine.ts";
import { Gateways } from "./harness/gateways.ts";
import type { Member } from "./harness/member.ts";
import { generationOf, patch, put, type Services } from "./harness/push-requests.ts";
import { ClusterHistory } from "./harness/pushed-states.ts";

const SERVICES = 1000;
/** Those of `startDenoSecondary`. */
const ZONES = ["clusterset.local", "clusterset.test"];
const addressOf = (net: number, index: number) => `10.${net}.${index >> 8}.${index & 255}`;

let engine: Engine;
let gateways: Gateways;
let members: readonly [Member, Member];
let balancer: Balancer;
/** It has one address for both gateways. */
let moving: Awaited<ReturnType<typeof startDenoSecondary>>;
/** It knows the second gateway alone. */
let staying: Awaited<ReturnType<typeof startDenoSecondary>>;
let services: Services = Object.fromEntries(
  Array.from({ length: SERVICES }, (_, index) => [`web-${index}`, { addresses: [addressOf(1, index)] }]),
);
let generation: number;

beforeAll(async () => {
  const token = randomBytes(32).toString("base64url");
  const tokenSha256 = createHash("sha256").update(token).digest("hex");
  engine = await Engine.start();
  gateways = await Gateways.start({
    ...{ count: 2, connect: () => engine.connect(), histories: [new ClusterHistory("east", 1)] },
    config: { zones: ZONES, transfer: { credentials: [{ tokenSha256 }] } },
  });
  members = gateways.members as unknown as [Member, Member];
  const [one, other] = members.map(({ gateway }) => gateway) as [Member["gateway"], Member["gateway"]];
  generation = generationOf(await put(one, "east", services));
  balancer = await Balancer.start([one, other].map(({ url }) => Number(new URL(url).port)));
  moving = await startDenoSecondary({ ...one, url: `http://127.0.0.1:${balancer.port}` }, token);
  staying = await startDenoSecondary(other, token);
  for (const { host } of [moving, staying]) await untilAnswered(host.client, "web-0.shop", [addressOf(1, 0)]);
});

afterAll(async () => {
  await Promise.all([moving?.server.stop(), staying?.server.stop(), balancer?.close()]);
  await gateways?.stop();
  await engine?.stop();
});

const fetched = (secondary: GatewayClient) =>
  Promise.all(
    ["segments", "bytes"].map((what) =>
      metric(secondary, `clusterset_doh_transferred_${what}_total`, { from: "primary" }),
    ),
  );
const added = (before: readonly number[], after: readonly number[]) =>
  after.map((count, index) => count - before[index]!);

/** Gives a service another address, and waits until secondaries answer it. @returns what each of them fetched for that */
async function change(to: Member, net: number, secondaries: readonly GatewayClient[]): Promise<number[][]> {
  const before = await Promise.all(secondaries.map(fetched));
  const after = { ...services, "web-7": { addresses: [addressOf(net, 7)] } };
  generation = generationOf(await patch(to.gateway, "east", generation, services, after));
  services = after;
  for (const secondary of secondaries)
    await eventualAnswer(secondary, "web-7.shop").toEqual([addressOf(net, 7)]);
  return Promise.all(
    secondaries.map(async (secondary, index) => added(before[index]!, await fetched(secondary))),
  );
}

test("a secondary moves to another gateway when its own is killed, answers all the time, and fetches what one that stayed fetches", async () => {
  const [first, second] = members;
  const before = await fetched(moving.host.client);
  expect([balancer.current, before[0]! > 40]).toEqual([0, true]);
  await first.kill();
  const end = performance.now() + 8000;
  while (performance.now() < end)
    expect(await answered(moving.host.client, "web-7.shop")).toEqual([addressOf(1, 7)]);
  expect([balancer.current, await fetched(moving.host.client)]).toEqual([1, before]);
  const [moved, stayed] = await change(second, 2, [moving.host.client, staying.host.client]);
  expect(moved).toEqual(stayed);
  expect(moved![0]).toBeGreaterThan(0);
  expect(moved![0]).toBeLessThan(before[0]! / 8);
});

test("it moves back to a gateway that started again from the log, and fetches only what changed", async () => {
  const [first, second] = members;
  const before = await fetched(moving.host.client);
  await first.restart();
  await second.kill();
  const [moved] = await change(first, 3, [moving.host.client]);
  expect(balancer.current).toBe(0);
  expect(moved![0]).toBeGreaterThan(0);
  expect(moved![0]).toBeLessThan(before[0]! / 8);
});
