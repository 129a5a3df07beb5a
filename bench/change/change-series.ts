import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../test/e2e/servers/kubernetes/api-client.ts";
import type { Progress, Table } from "../report/report.ts";
import { addressOf, CHANGING_QUERY, changingSlice } from "./changing-objects.ts";
import type { Poller } from "./poll.ts";

/**
 * Between two changes, in milliseconds, so that nothing waits for the one before: at least, and at random as
 * much again.
 */
const REST = 300;
/**
 * Changes before the first that counts: until V8 has compiled what they run, each takes about twice as long.
 */
const WARM_UP = 30;

type Server = "gateway" | "CoreDNS";

/** Changes one address again and again and waits until both servers answer it. */
export class ChangeSeries {
  readonly #admin: ApiClient;
  readonly #pollers: Readonly<Record<Server, Poller>>;
  #address = 0;

  constructor(admin: ApiClient, pollers: Readonly<Record<Server, Poller>>) {
    this.#admin = admin;
    this.#pollers = pollers;
  }

  /** Waits until both answer what is there. */
  async settle(): Promise<void> {
    const address = addressOf(this.#address);
    const pollers = Object.values(this.#pollers);
    await Promise.all(pollers.map((poller) => poller.waitForAddress(CHANGING_QUERY, address)));
  }

  /** Makes changes that do not count. */
  async warmUp(): Promise<void> {
    for (let change = 0; change < WARM_UP; change++) {
      await this.#admin.apply(changingSlice(addressOf(++this.#address)));
      await this.settle();
    }
  }

  /** @param atMost the goal for the gateway's median ÷ CoreDNS's */
  async measure(title: string, changes: number, atMost: number, progress: Progress): Promise<Table> {
    const samples = { gateway: [] as number[], CoreDNS: [] as number[], written: [] as number[] };
    for (let change = 1; change <= changes; change++) {
      progress(`${title}: change ${change} of ${changes}`);
      await sleep(REST * (1 + Math.random()));
      const address = addressOf(++this.#address);
      const started = performance.now();
      const [written, gateway, coredns] = await Promise.all([
        this.#admin.apply(changingSlice(address)).then(() => performance.now()),
        this.#pollers.gateway.waitForAddress(CHANGING_QUERY, address),
        this.#pollers.CoreDNS.waitForAddress(CHANGING_QUERY, address),
      ]);
      samples.written.push(written - started);
      samples.gateway.push(gateway - written);
      samples.CoreDNS.push(coredns - written);
    }
    const unit = "ms";
    return {
      title: `From the API server's reply to the changed answer: ${title}`,
      rows: [
        { name: "gateway", unit, samples: samples.gateway },
        { name: "CoreDNS", unit, samples: samples.CoreDNS },
        { name: "for comparison: the API server's reply", unit, samples: samples.written },
      ],
      baselines: ["CoreDNS"],
      goals: [{ row: "gateway", dividedBy: "CoreDNS", atMost }],
      ofMedians: true,
      notes: [
        `${changes} changes, after ${WARM_UP} that do not count; each gives the EndpointSlice of a headless service another address. Both are asked over DoH every millisecond or two, and hold the same objects of one API server. Below 0: answered before the reply was read.`,
      ],
    };
  }
}
