import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pidOf } from "../cpu/contenders.ts";
import { ForkedProgram } from "../processes/forked-program.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import type { Progress, Table } from "../report/report.ts";
import { Samples } from "../report/samples.ts";
import type { Changing, SharedWorld } from "./shared-world.ts";

/** Secondaries that follow one of the gateways. */
export interface ReadersSpec {
  readonly url: string;
  readonly token: string;
  readonly count: number;
  /** What each of them keeps: `<namespace>/<label>`. */
  readonly key: string;
}

/** What came of them since the last look. */
export interface ReadersCounts {
  /** Responses with a state, and the bytes of their bodies. */
  readonly states: number;
  readonly stateBytes: number;
  /** Responses with a key, and the bytes of the bodies of all responses to requests for parts. */
  readonly keys: number;
  readonly partBytes: number;
  /** What failed. */
  readonly failed: number;
}

const COUNTS = [100, 200] as const;
/** How many secondaries may cost for each, divided by what half of them cost. */
const GOAL = 1.2;
/** How long they are measured, and between two changes, in milliseconds. */
const DURATION = 10_000;
const BETWEEN = 500;

/** What secondaries cost a gateway that did not take the pushes that they follow. */
export async function measureReaders(
  { gateways, changing, transferToken }: SharedWorld,
  held: string,
  rounds: number,
  progress: Progress,
): Promise<Table[]> {
  const states = new Samples();
  const keys = new Samples();
  const cpu = new Samples();
  // Those of even numbers push to the other one.
  const [cluster] = changing as [Changing, ...Changing[]];
  const [, followed] = gateways;
  const pid = pidOf(followed.process);
  const cpuDuring = async () => {
    const before = readThreadTimes(pid);
    const end = performance.now() + DURATION;
    while (performance.now() < end) {
      await cluster.change().acknowledged;
      await sleep(BETWEEN);
    }
    return cpuMicrosecondsSince(before, pid);
  };
  for (let round = 1; round <= rounds; round++) {
    progress(`no secondary, round ${round} of ${rounds}`);
    const without = await cpuDuring();
    for (const count of COUNTS) {
      progress(`${count} secondaries, round ${round} of ${rounds}`);
      const spec: ReadersSpec = { url: followed.url, token: transferToken, count, key: cluster.key };
      const readers = await ForkedProgram.start(join(import.meta.dirname, "readers-program.ts"), spec);
      try {
        await readers.tell("counts");
        const spent = await cpuDuring();
        const counts = (await readers.tell("counts")) as ReadersCounts;
        if (counts.failed > 0 || counts.keys < count)
          throw new Error(
            `${count} secondaries fetched ${counts.keys} keys, and ${counts.failed} requests failed`,
          );
        progress(`${count}: ${JSON.stringify(counts)}`);
        states.add(`${count} secondaries`, "B", counts.stateBytes / counts.states);
        keys.add(`${count} secondaries`, "B", counts.partBytes / counts.keys);
        cpu.add(`${count} secondaries`, "µs", (spent - without) / count / (DURATION / 1000));
      } finally {
        readers.stop();
      }
    }
  }
  const [few, many] = COUNTS.map((count) => `${count} secondaries`) as [string, string];
  const notes = [
    `Each requests the state every second, and a key when it changed. One endpoint of it changes every ${BETWEEN} ms, pushed to the other gateway.`,
  ];
  const goals = [{ row: many, dividedBy: few, atMost: GOAL }];
  const table = (title: string, { rows }: Samples): Table => ({
    title: `${title}: ${held}`,
    rows,
    baselines: [few],
    goals,
    notes,
  });
  return [
    table("Bytes of each state that a secondary gets", states),
    table("Bytes of parts for each change that a secondary follows", keys),
    table("CPU time of the gateway for each secondary and second", cpu),
  ];
}
