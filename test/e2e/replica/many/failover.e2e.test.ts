import { afterAll, beforeAll, expect, test } from "vitest";
import { type SentinelGroup, startSentinelGroup } from "../../servers/redis/sentinel-group.ts";
import { Chaos } from "./harness/chaos.ts";

/** What workers and clients do: `CHAOS_SEED=7 FAILOVER_ROUNDS=20` runs another sequence, and longer. */
const SEED = Number(process.env.CHAOS_SEED ?? 20_261_124);
const ROUNDS = Number(process.env.FAILOVER_ROUNDS ?? 2);
const GATEWAYS = Number(process.env.CHAOS_GATEWAYS ?? 3);

let group: SentinelGroup;
let chaos: Chaos;

beforeAll(async () => {
  group = await startSentinelGroup({ replicas: 2 });
  const { name, nodes } = group;
  const connect = async () => ({ store: { sentinel: { name, nodes } } });
  chaos = await Chaos.start({ count: GATEWAYS, connect, clusters: 4, seed: SEED });
});

afterAll(async () => {
  await chaos?.stop();
  await group?.stop();
});

test(
  `after each of ${ROUNDS} failovers, planned and by a killed master, gateways and workers end alike, and answer meanwhile (seed ${SEED})`,
  async () => {
    for (let round = 1; round <= ROUNDS; round++) {
      chaos.startWorkers();
      await chaos.meet();
      // The new master may lack what the old one acknowledged last.
      chaos.gateways.losing();
      if (round % 2 === 1) {
        chaos.note("the Sentinels move the master");
        await group.failover();
      } else {
        chaos.note("the master is killed");
        const master = await group.master();
        await master.process.kill();
        await group.masterOtherThan(master);
        await master.process.start();
      }
      await group.joined();
      chaos.gateways.lost();
      await chaos.meet();
      await chaos.settle();
      expect(chaos.wrong).toEqual([]);
    }
  },
  Math.max(10, ROUNDS) * 60_000,
);
