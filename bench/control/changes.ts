import { setTimeout as sleep } from "node:timers/promises";
import { slices } from "../../test/e2e/commands/exported.ts";
import type { ApiServer } from "../../test/e2e/servers/kubernetes/api-server.ts";
import { addressOf, CHANGING_QUERY } from "../change/changing-objects.ts";
import type { Poller } from "../change/poll.ts";
import type { Progress, Row, Table } from "../report/report.ts";
import type { Clusters } from "./clusters.ts";
import type { ControlWorker } from "./control-worker.ts";

/** Changes before the first that counts. */
const WARM_UP = 10;
/** Between two changes, in milliseconds: at least, and at random as much again. */
const REST = 300;

/** Changes one endpoint in a cluster again and again, and waits until the other one and DoH have it. */
export class Changes {
  readonly #a: ApiServer;
  readonly #importer: ControlWorker;
  readonly #poller: Poller;
  #address = 0;

  constructor({ a, importer, poller }: Clusters) {
    this.#a = a;
    this.#importer = importer;
    this.#poller = poller;
  }

  /** Makes changes that do not count. */
  async warmUp(): Promise<void> {
    await this.measure("", WARM_UP, () => {});
  }

  async measure(title: string, changes: number, progress: Progress): Promise<Table[]> {
    const samples = { slice: [] as number[], answer: [] as number[], written: [] as number[] };
    const before = await this.#importer.writes();
    for (let change = 1; change <= changes; change++) {
      progress(`${title}: change ${change} of ${changes}`);
      await sleep(REST * (1 + Math.random()));
      const address = addressOf(++this.#address);
      const started = performance.now();
      const [written, slice, answer] = await Promise.all([
        this.#a.admin
          .apply(...slices("changing", "db", { endpoints: [address] }))
          .then(() => performance.now()),
        this.#importer.slices.waitForAddress("db", address),
        this.#poller.waitForAddress(CHANGING_QUERY, address),
      ]);
      samples.written.push(written - started);
      samples.slice.push(slice - written);
      samples.answer.push(answer - written);
    }
    await sleep(REST);
    const made = new Map<string, number>();
    for (const [what, count] of await this.#importer.writes())
      made.set(what, count - (before.get(what) ?? 0));
    const unit = "ms";
    return [
      {
        title: `From the API server's reply to the other cluster: ${title} beside`,
        rows: [
          { name: "EndpointSlice in the other cluster", unit, samples: samples.slice },
          { name: "answer over DoH", unit, samples: samples.answer },
          { name: "for comparison: the API server's reply", unit, samples: samples.written },
        ],
        baselines: ["answer over DoH"],
        goals: [],
        ofMedians: true,
        notes: [
          `${changes} changes, after ${WARM_UP} that do not count; each gives the EndpointSlice of a headless service another address. The slice is seen by a watch. Below 0: before the reply was read.`,
        ],
      },
      {
        title: `Writes in the other cluster for one change: ${title} beside`,
        rows: writeRows(made, changes),
        baselines: [],
        goals: [],
        notes: ["By the worker's metrics."],
      },
    ];
  }
}

/** A row for each verb and kind; `share` is what the counts are divided by. */
export function writeRows(writes: ReadonlyMap<string, number>, share: number): Row[] {
  return [...writes]
    .filter(([, count]) => count > 0)
    .map(([name, count]) => ({ name, unit: "writes", samples: [count / share] }));
}
