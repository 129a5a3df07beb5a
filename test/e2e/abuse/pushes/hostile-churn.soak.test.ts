import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { GatewayWatch } from "../harness/gateway-watch.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { Random } from "../harness/random.ts";
import { HealthyCluster } from "./healthy-cluster.ts";
import { HostileCluster } from "./hostile-cluster.ts";

/** Longer, and with another seed: CHURN_MINUTES=120 ABUSE_SEED=$RANDOM. */
const MINUTES = Number(process.env.CHURN_MINUTES ?? 0.5);
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
/** Hostile requests at the same time, and the pause before the next one. */
const HANDS = 3;
const PAUSE_MS = 100;
/** Node's heap and malloc settle within the first part of the time. */
const SETTLED = 0.2;
const MOST_GROWTH_MEBIBYTES = 150;

describe(`${MINUTES} minutes of churn with a hostile cluster beside healthy ones, seed ${SEED}`, () => {
  let gateway: GatewayProcess;
  let healthy: HealthyCluster[];
  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east", "west", "mallory"], leaseSeconds: 60, env: MEASURED });
    healthy = [new HealthyCluster(gateway, "east", 1), new HealthyCluster(gateway, "west", 2)];
    for (const cluster of healthy) await cluster.begin();
  });
  afterAll(() => gateway?.stop());

  test("nothing acknowledged is lost, no healthy name changes, and memory stays flat", {
    timeout: (MINUTES + 3) * 60_000,
  }, async () => {
    const watch = await GatewayWatch.start(gateway);
    const startedAt = Date.now();
    const share = () => (Date.now() - startedAt) / (MINUTES * 60_000);
    const mallory = new HostileCluster(gateway, "mallory", ["east", "west"], [1, 2], new Random(SEED));
    let acts = 0;
    let hasFailed = false;
    const goesOn = () => share() < 1 && !hasFailed && gateway.process.isRunning;
    const attack = async () => {
      while (goesOn()) {
        await mallory.act().catch(() => {});
        acts++;
        await sleep(PAUSE_MS);
      }
    };
    const churn = async (cluster: HealthyCluster) => {
      try {
        while (goesOn()) {
          await cluster.change();
          await sleep(PAUSE_MS);
        }
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    };
    let settled: number | undefined;
    const measure = async () => {
      for (let reported = 0; goesOn(); await sleep(1000)) {
        if (share() > SETTLED) settled ??= await heldMebibytes(gateway);
        const minute = Math.floor((Date.now() - startedAt) / 60_000);
        if (minute <= reported) continue;
        reported = minute;
        const changes = healthy.map((cluster) => cluster.changes).join(" and ");
        console.log(`minute ${minute}: ${changes} changes, ${acts} hostile requests`);
      }
    };
    await Promise.all([...healthy.map(churn), ...Array.from({ length: HANDS }, attack), measure()]);
    const statuses = [...mallory.statuses].sort().map(([status, count]) => `${count} × ${status}`);
    console.log(`seed ${SEED}: ${acts} hostile requests, responses ${statuses.join(", ")}`);
    for (const cluster of healthy) expect(cluster.changes).toBeGreaterThan(0);
    await eventually(async () => (await heldMebibytes(gateway)) - settled!).toBeLessThan(
      MOST_GROWTH_MEBIBYTES,
    );
    await watch.end(MOST_GROWTH_MEBIBYTES + 400);
  });

  test("after a crash the gateway answers everything that it had acknowledged", async () => {
    await gateway.kill();
    await gateway.restart();
    for (const cluster of healthy) await cluster.check();
  });
});
