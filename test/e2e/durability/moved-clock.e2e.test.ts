import { afterEach, expect, test } from "vitest";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { answered, eventualAnswer } from "../harness/answers.ts";
import { DAY, HOUR, MINUTE, MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

let gateway: GatewayProcess | undefined;

afterEach(async () => {
  await gateway?.stop();
});

const LEASE_MINUTES = 10;

/** A gateway with two clusters: `east` with a lease that is not renewed, `west` with one of an hour. */
async function twoClusters() {
  const clock = new MovedClock();
  const started = await startGateway({ clusters: ["east", "west"], env: clock.env });
  gateway = started;
  const push = async (clusterId: string, address: string, leaseSeconds: number) => {
    const answer = await started.http(`/api/v1/clusters/${clusterId}/snapshot?leaseSeconds=${leaseSeconds}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${started.tokenFor(clusterId)}`, "content-type": LINES_TYPE },
      body: Buffer.from(snapshotBody(snapshotOf(clusterId, address))),
    });
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.json<{ generation: number; expiresAt: number }>();
  };
  await push("west", "10.2.0.1", 3600);
  const leave = async () => {
    clock.pass(LEASE_MINUTES * MINUTE);
    await eventualAnswer(started, "east.shop").toBe("NXDOMAIN");
  };
  const west = () => answered(started, "west.shop");
  const pushEast = () => push("east", "10.1.0.1", LEASE_MINUTES * 60);
  return { clock, gateway: started, leave, west, pushEast };
}

function snapshotOf(clusterId: string, address: string) {
  const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
  const endpoints = { "pg/TCP/5432": { ports, members: { [address]: { address } } } };
  return snapshot(clusterId, {
    exports: { [`shop/${clusterId}`]: exported({ headless: true, ports, endpoints }) },
  });
}

const jumps = [
  { title: "an hour back", steps: [-HOUR] },
  { title: "a day ahead", steps: [DAY] },
  { title: "a day ahead and back", steps: [DAY, 0] },
];

test.for(jumps)(
  "the wall clock is set $title: dead clusters leave by their lease, live ones stay",
  async ({ steps }) => {
    const { clock, gateway, west, leave, pushEast } = await twoClusters();
    const { generation } = await pushEast();
    expect(await answered(gateway, "east.shop")).toEqual(["10.1.0.1"]);
    for (const offset of steps) {
      clock.set(offset);
      expect(await west()).toEqual(["10.2.0.1"]);
    }
    await leave();
    expect(await west()).toEqual(["10.2.0.1"]);
    // Who comes back gets a generation and a time that are newer by the clock that workers see.
    const again = await pushEast();
    expect(again.generation).toBeGreaterThan(generation);
    expect(again.expiresAt).toBeGreaterThan(clock.now());
    expect(again.expiresAt).toBeLessThan(clock.now() + HOUR / 2);
  },
);

test.for(jumps)("the wall clock is set $title before a restart: the same", async ({ steps }) => {
  const { clock, gateway, west, leave, pushEast } = await twoClusters();
  await pushEast();
  for (const offset of steps) {
    clock.set(offset);
    await gateway.kill();
    await gateway.restart();
    expect(await west()).toEqual(["10.2.0.1"]);
  }
  await leave();
  expect(await west()).toEqual(["10.2.0.1"]);
});

test("a gateway that is down for longer than a lease does not answer for the dead until they renew their leases, whatever its clock shows", async () => {
  const { clock, gateway, west, pushEast } = await twoClusters();
  const { generation } = await pushEast();
  await gateway.kill();
  clock.pass(LEASE_MINUTES * MINUTE);
  clock.set(-HOUR);
  await gateway.restart();
  expect(await answered(gateway, "east.shop")).toBe("NXDOMAIN");
  expect(await west()).toEqual(["10.2.0.1"]);
  const renewed = await gateway.http("/api/v1/clusters/east/lease", {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.tokenFor("east")}`, "content-type": "application/json" },
    body: JSON.stringify({ generation }),
  });
  // What it pushed is still held.
  expect(renewed.status).toBe(200);
  expect(await answered(gateway, "east.shop")).toEqual(["10.1.0.1"]);
});
