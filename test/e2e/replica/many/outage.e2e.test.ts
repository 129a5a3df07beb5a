import { afterAll, beforeAll, expect, test } from "vitest";
import { extendedErrors } from "../../../resolve/extended-errors.ts";
import { answered, eventually, metric } from "../../harness/answers.ts";
import { MovedClock } from "../../harness/moved-clock.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { Engine } from "./harness/engine.ts";
import { put, renew } from "./harness/push-requests.ts";

/** By the engine's clock, too, which is not moved. */
const LEASE_SECONDS = 20;
const HOLD_SECONDS = 600;
const STALE = 3;
const clock = new MovedClock();
let engine: Engine;
let gateway: GatewayProcess;

beforeAll(async () => {
  engine = await Engine.start();
  gateway = await startGateway({
    clusters: ["east"],
    leaseSeconds: LEASE_SECONDS,
    env: clock.env,
    config: { store: { url: engine.redis.url, leaseHoldSeconds: HOLD_SECONDS } },
  });
});

afterAll(async () => {
  await gateway?.stop();
  await engine?.stop();
});

const push = (host: number) =>
  put(gateway, "east", { web: { addresses: [`10.1.0.${host}`] } }, LEASE_SECONDS);
const staleness = async () =>
  extendedErrors((await gateway.query("web.shop.svc.clusterset.local", "A")).raw)[0];
const readiness = async () => {
  const { status, text } = await gateway.http("/readyz");
  return `${status} ${text.trim()}`;
};

test("while the engine is gone a gateway answers beyond leases for the configured time, says so, and rejects pushes with 503; then it follows the engine again", async () => {
  expect((await push(1)).status).toBe(200);
  const { generation } = await gateway.clusterStatus<{ generation: number }>("east");
  expect(await staleness()).toBeUndefined();
  await engine.kill();
  for (let passed = 0; passed < 2 * LEASE_SECONDS; passed += LEASE_SECONDS / 4) {
    clock.pass((LEASE_SECONDS / 4) * 1000);
    const rejected = await push(2);
    expect([rejected.status, rejected.json(), Number(rejected.headers["retry-after"])]).toEqual([
      503,
      { code: "STORE_FAILED", message: expect.stringMatching(/Valkey or Redis/) },
      expect.any(Number),
    ]);
    expect((await renew(gateway, "east", generation, LEASE_SECONDS)).status).toBe(503);
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1"]);
  }
  expect(await staleness()).toBe(STALE);
  await eventually(readiness).toMatch(/^200 ready: 1 of 1 .*Valkey or Redis/);
  expect(await metric(gateway, "clusterset_doh_store_failing")).toBe(1);
  clock.pass(HOLD_SECONDS * 1000);
  await eventually(() => answered(gateway, "web.shop")).toBe("SERVFAIL");
  await eventually(readiness).toMatch(/^503 not ready/);

  await engine.startAgain();
  await eventually(async () => (await push(3)).status).toBe(200);
  await eventually(() => answered(gateway, "web.shop")).toEqual(["10.1.0.3"]);
  await eventually(staleness).toBeUndefined();
  await eventually(readiness).toMatch(/^200 ready: 1 of 1 [^;]*$/);
});
