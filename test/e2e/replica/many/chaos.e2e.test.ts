import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { Chaos } from "./harness/chaos.ts";
import { Engine } from "./harness/engine.ts";
import { chooseFaults } from "./harness/faults.ts";

/** Which faults, and how many times: `CHAOS_SEED=7 CHAOS_ROUNDS=100` runs other ones, and more. */
const SEED = Number(process.env.CHAOS_SEED ?? 20_261_124);
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 4);
const GATEWAYS = Number(process.env.CHAOS_GATEWAYS ?? 3);

let engine: Engine;
let chaos: Chaos;

beforeAll(async () => {
  engine = await Engine.start();
  chaos = await Chaos.start({
    count: GATEWAYS,
    connect: () => engine.connect(),
    clusters: 4,
    seed: SEED,
    readLog: () => engine.log("shared", 40),
  });
});

afterAll(async () => {
  await chaos?.stop();
  await engine?.stop();
});

/** What gateways take of the engine. */
const connections = () => engine.figure("connected_clients");
const bytes = () => engine.figure("used_memory");

test(
  `${GATEWAYS} gateways lose no acknowledged push, answer nothing wrong and end alike, whatever fails in ${ROUNDS} rounds (seed ${SEED})`,
  async () => {
    console.log(`seed ${SEED}, ${ROUNDS} rounds`);
    let early = { connections: 0, bytes: 0 };
    for (let round = 1; round <= ROUNDS; round++) {
      chaos.startWorkers();
      chaos.note(`round ${round}`);
      await chaos.meet();
      const faults = chooseFaults(engine, chaos.gateways, chaos.random);
      for (const fault of faults) {
        chaos.note(fault.name);
        await fault.begin();
      }
      await chaos.meet();
      for (const fault of faults) {
        chaos.note(`it is over that ${fault.name}`);
        await fault.end();
      }
      await chaos.meet();
      await chaos.settle();
      if (chaos.wrong.length > 0)
        console.log([...(await engine.log("shared", 400)), ...chaos.gateways.logs(200)].join("\n"));
      expect(chaos.wrong).toEqual([]);
      if (round === Math.ceil(ROUNDS / 3)) early = { connections: await connections(), bytes: await bytes() };
    }
    await eventually(connections).toBeLessThanOrEqual(early.connections + GATEWAYS);
    await eventually(bytes).toBeLessThan(1.5 * early.bytes + 16 * 1024 * 1024);
  },
  Math.max(20, ROUNDS) * 60_000,
);
