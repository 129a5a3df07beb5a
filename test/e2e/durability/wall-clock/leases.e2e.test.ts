import { afterEach, expect, test } from "vitest";
import { exported, snapshot } from "../../../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { answered, eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { DAY, HOUR, WallClock } from "./wall-clock.ts";

let gateway: GatewayProcess | undefined;

afterEach(async () => {
  await gateway?.stop();
});

/** A gateway with two clusters: `east` with a lease of 3 s that is not renewed, `west` with one of an hour. */
async function twoClusters() {
  const clock = new WallClock();
  const lease = { minimumSeconds: 1, defaultSeconds: 60, maximumSeconds: 3600 };
  const started = await startGateway({ clusters: ["east", "west"], config: { lease }, env: clock.env });
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
  const leave = () => eventually(() => answered(started, "east.shop")).toBe("NXDOMAIN");
  const west = () => answered(started, "west.shop");
  return { clock, gateway: started, push, leave, west, pushEast: () => push("east", "10.1.0.1", 3) };
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
    expect(again.expiresAt).toBeGreaterThan(Date.now() + steps.at(-1)!);
    expect(again.expiresAt).toBeLessThan(Date.now() + steps.at(-1)! + HOUR / 2);
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

test("a gateway that is down for longer than a lease does not answer for the dead, whatever its clock shows", async () => {
  const { clock, gateway, west, push } = await twoClusters();
  const { generation } = await push("east", "10.1.0.1", 1);
  await gateway.kill();
  clock.set(-HOUR);
  await gateway.restart();
  await eventually(() => answered(gateway, "east.shop")).toBe("NXDOMAIN");
  expect(await west()).toEqual(["10.2.0.1"]);
  const renewed = await gateway.http("/api/v1/clusters/east/lease", {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.tokenFor("east")}`, "content-type": "application/json" },
    body: JSON.stringify({ generation }),
  });
  expect(renewed.status).toBe(409);
});
