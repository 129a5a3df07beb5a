import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { pushed } from "../../../snapshot/lines/push-lines.ts";
import { answered, eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { DAY, WallClock } from "./wall-clock.ts";

const PORTS: Readonly<Record<string, number>> = { east: 1001, north: 1002, west: 1003 };
const LEASE = 3600;

let gateway: GatewayProcess;
let clock: WallClock;

afterEach(async () => {
  await gateway?.stop();
});

/** A gateway on its first day; `startsAhead` moves the clock with which it starts. */
async function start(startsAhead = 0) {
  clock = new WallClock(startsAhead);
  const lease = { minimumSeconds: 1, defaultSeconds: LEASE, maximumSeconds: LEASE };
  gateway = await startGateway({
    clusters: Object.keys(PORTS),
    tls: false,
    config: { lease },
    env: clock.env,
  });
}

/** Some time of a day of the gateway's life, of which the first is day 1. */
const day = (number: number) => Date.now() + (number - 1) * DAY;
const setDay = (number: number) => clock.set((number - 1) * DAY);

interface Reported {
  readonly exportedAt?: number;
  readonly namespace?: boolean;
  readonly leaseSeconds?: number;
}

/** Pushes a cluster that exports `shop/web` on a port of its own, or does not. */
async function put(clusterId: string, { exportedAt, namespace = true, leaseSeconds = LEASE }: Reported = {}) {
  const ports = [{ name: "http", protocol: "TCP", port: PORTS[clusterId]! }];
  const address = `10.0.0.${PORTS[clusterId]! - 1000}`;
  const web = exportedAt !== undefined && {
    exportedAt: new Date(exportedAt).toISOString(),
    ...{ serviceType: "ClusterIP", headless: false, ports },
    endpoints: { "http/TCP/8080": { ports: [{ name: "http", protocol: "TCP", port: 8080 }], members: { [address]: { address } } } }, // biome-ignore format: one endpoint
  };
  const answer = await request(clusterId, "PUT", `/snapshot?leaseSeconds=${leaseSeconds}`, {
    ...{ formatVersion: 1, clusterId, imports: {}, services: {}, pods: {}, findings: {} },
    namespaces: namespace ? { shop: {} } : {},
    exports: web ? { "shop/web": web } : {},
  });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
}

function request(clusterId: string, method: string, path = "", body?: object) {
  const headers = { authorization: `Bearer ${gateway.tokenFor(clusterId)}` };
  const to = `/api/v1/clusters/${clusterId}${path}`;
  return body === undefined
    ? gateway.http(to, { method, headers })
    : gateway.http(...pushed(method, to, body, headers));
}

/** The cluster whose port is answered. */
async function owner(): Promise<string | undefined> {
  const values = await answered(gateway, "_http._tcp.web.shop", "SRV");
  const ports = Array.isArray(values) ? values.map((value) => Number(value.split(" ")[2])) : [];
  return Object.keys(PORTS).find((clusterId) => ports.includes(PORTS[clusterId]!));
}

async function findings(clusterId: string): Promise<string[]> {
  const status = await gateway.clusterStatus<{ findings: { reason: string }[] }>(clusterId);
  return status.findings.map(({ reason }) => reason);
}

async function restart() {
  await gateway.kill();
  await gateway.restart();
}

const away: [string, () => Promise<void>][] = [
  ["DELETE", async () => void expect((await request("east", "DELETE")).status).toBeLessThan(300)],
  [
    "silence",
    async () => {
      await put("east", { leaseSeconds: 1 });
      await eventually(async () => (await gateway.clusterStatus<{ live: boolean }>("east")).live).toBe(false);
    },
  ],
  ["kill -9 and a restart", restart],
];

describe.each(away)("a cluster that goes by %s", (_, leave) => {
  test("does not take over on day 60, with an export of day 3, what another one exports since day 30", async () => {
    await start();
    setDay(2);
    await put("east");
    await leave();
    setDay(30);
    await put("west", { exportedAt: day(30) });
    setDay(60);
    await put("east", { exportedAt: day(3) });
    expect(await owner()).toBe("west");
    expect(await findings("east")).toContain("ImplausibleTimestamp");
    await restart();
    expect(await owner()).toBe("west");
  });

  test("does not take over on day 60 a name that it reserved on day 2", async () => {
    await start();
    setDay(2);
    await put("east", { exportedAt: day(2), namespace: false });
    await put("east");
    await put("east", { exportedAt: day(2) });
    await put("east");
    await leave();
    setDay(30);
    await put("west", { exportedAt: day(30) });
    setDay(60);
    await put("east", { exportedAt: day(2), namespace: false });
    await put("east", { exportedAt: day(2) });
    expect(await owner()).toBe("west");
  });
});

test("an export keeps its rank while its cluster is away", async () => {
  await start();
  const created = day(-10);
  await put("west", { exportedAt: created });
  expect((await request("west", "DELETE")).status).toBeLessThan(300);
  setDay(30);
  await put("east", { exportedAt: day(-50) });
  await restart();
  setDay(60);
  await put("west", { exportedAt: created });
  expect(await owner()).toBe("west");
});

test("a gateway that started on a day years ahead has no first day any more when its clock is right", async () => {
  await start(3000 * DAY);
  await put("west", { exportedAt: day(-10) });
  clock.set(0);
  await restart();
  await put("east", { exportedAt: day(-50) });
  expect(await owner()).toBe("west");
  expect(await findings("east")).toContain("ImplausibleTimestamp");
  expect(gateway.process.log()).toContain("founding-void");
  setDay(9);
  await restart();
  await put("north", { exportedAt: day(-50) });
  expect(await owner()).toBe("west");
});

test("no single file that is damaged gives a service to another cluster, and the log reports each", async () => {
  await start();
  const created = day(-10);
  await put("west", { exportedAt: created });
  await put("east");
  setDay(40);
  await put("west", { exportedAt: created });
  await put("east", { exportedAt: day(-50) });
  const memory = globSync("precedence*/*.record", { cwd: gateway.stateDir });
  expect(memory).toHaveLength(6);
  for (const [index, file] of memory.entries()) {
    await gateway.kill();
    const path = join(gateway.stateDir, file);
    const bytes = readFileSync(path);
    if (index % 3 === 0) rmSync(path);
    else writeFileSync(path, index % 3 === 1 ? bytes.subarray(9) : bytes.toString().replace("20", "19"));
    const logged = gateway.process.log().length;
    await gateway.restart();
    expect([file, await owner()]).toEqual([file, "west"]);
    await put("north", { exportedAt: day(-50) });
    await put("east", { exportedAt: day(-50) });
    expect([file, await owner()]).toEqual([file, "west"]);
    expect(gateway.process.log().slice(logged)).toContain("memory-damaged");
    expect((await gateway.http("/metrics")).text).toMatch(/damaged_records_total\{part="memory"\} 1/);
  }
});
