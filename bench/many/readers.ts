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
}

/** What came of them since the last look. */
export interface ReadersCounts {
  /** Responses with a state, and the bytes of their bodies. */
  readonly states: number;
  readonly stateBytes: number;
  /** Roots that were taken over, and the bytes of the bodies of all responses to requests for one. */
  readonly roots: number;
  readonly rootBytes: number;
  /** Responses with a root instead of its change. */
  readonly wholeRoots: number;
  /** Requests that failed. */
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
  const roots = new Samples();
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
      const spec: ReadersSpec = { url: followed.url, token: transferToken, count };
      const readers = await ForkedProgram.start(join(import.meta.dirname, "readers-program.ts"), spec);
      try {
        await readers.tell("counts");
        const spent = await cpuDuring();
        const counts = (await readers.tell("counts")) as ReadersCounts;
        if (counts.failed > 0 || counts.roots < count)
          throw new Error(
            `${count} secondaries took over ${counts.roots} roots, and ${counts.failed} requests failed`,
          );
        progress(`${count}: ${JSON.stringify(counts)}`);
        states.add(`${count} secondaries`, "B", counts.stateBytes / counts.states);
        roots.add(`${count} secondaries`, "B", counts.rootBytes / counts.roots);
        cpu.add(`${count} secondaries`, "µs", (spent - without) / count / (DURATION / 1000));
      } finally {
        readers.stop();
      }
    }
  }
  const [few, many] = COUNTS.map((count) => `${count} secondaries`) as [string, string];
  const notes = [
    `Each requests the state every second, and the changes since the root that it has. One endpoint changes every ${BETWEEN} ms, pushed to the other gateway.`,
  ];
  const goals = [{ row: many, dividedBy: few, atMost: GOAL }];
  return [
    {
      ...{ title: `Bytes of each state that a secondary gets: ${held}`, rows: states.rows },
      ...{ baselines: [few], goals, notes },
    },
    {
      ...{ title: `Bytes for each root that a secondary takes over: ${held}`, rows: roots.rows },
      ...{ baselines: [few], goals, notes },
    },
    {
      ...{ title: `CPU time of the gateway for each secondary and second: ${held}`, rows: cpu.rows },
      ...{ baselines: [few], goals, notes },
    },
  ];
}
