/** The process of `Churn`: changes endpoints at a steady rate, each cluster as a worker does. */
import { setTimeout as sleep } from "node:timers/promises";
import { readSpec, takeOrders } from "../processes/forked-program.ts";
import { PushingCluster } from "../worlds/pushing-cluster.ts";
import {
  addressOf,
  ENDPOINTS_PER_EXPORT,
  keyOf,
  memberPatch,
  namedEndpoint,
  servicesOf,
  wideClusterIds,
  wideEndpoint,
  wideSnapshot,
} from "../worlds/wide-world.ts";
import type { ChurnReport, ChurnSpec } from "./churn.ts";

/** Milliseconds between two looks at the clock. */
const TICK = 10;
/** Milliseconds from one push of a cluster to its next: workers push at most 40 times a second. */
const BETWEEN_PUSHES = 25;
/** Clusters that push their full snapshots at the same time. */
const JOINING = 4;
/** Changed endpoints have addresses from here on, so many for each cluster. */
const FIRST_ADDRESS = 4_000_000;
const ADDRESSES = 100_000;

type Members = Parameters<typeof memberPatch>[0];

/** An endpoint that gets another address. */
interface Change {
  readonly service: number;
  readonly ordinal: number;
  /** By performance.now(). */
  readonly at: number;
}

const { url, ca, tokens, world, perSecond } = await readSpec<ChurnSpec>();
const tokenFor = (clusterId: string) => tokens[clusterId]!;
let report: ChurnReport = { milliseconds: [], pushes: 0 };

/** A cluster whose changes gather while a push is in flight. */
class ChurningCluster {
  readonly #cluster: number;
  readonly #pushing: PushingCluster;
  readonly #services: readonly number[];
  /** Keys of changed endpoints, by their host names. */
  readonly #keys = new Map<string, string>();
  #gathered: Change[] = [];
  #changes = 0;
  #pushed: Promise<void> | undefined;

  constructor(cluster: number, clusterId: string) {
    this.#cluster = cluster;
    this.#services = [...servicesOf(world, cluster)];
    this.#pushing = new PushingCluster({ url, ca, tokenFor }, clusterId);
  }

  join(): Promise<void> {
    return this.#pushing.replace(wideSnapshot(world, this.#cluster));
  }

  change(): void {
    const service = this.#services[(this.#changes * 7) % this.#services.length]!;
    this.#gathered.push({
      service,
      ordinal: this.#changes++ % ENDPOINTS_PER_EXPORT,
      at: performance.now(),
    });
    this.#pushed ??= this.#push().finally(() => {
      this.#pushed = undefined;
    });
  }

  async settle(): Promise<void> {
    while (this.#pushed !== undefined) await this.#pushed;
  }

  async #push(): Promise<void> {
    while (this.#gathered.length > 0) {
      const changes = this.#gathered;
      this.#gathered = [];
      const begun = performance.now();
      await this.#pushing.patch({ exports: this.#patchOf(changes) });
      const now = performance.now();
      report.pushes++;
      // Of the report that is open now: the one in which the push began may be handed over already.
      for (const { at } of changes) report.milliseconds.push(now - at);
      await sleep(Math.max(0, BETWEEN_PUSHES - (now - begun)));
    }
  }

  #patchOf(changes: readonly Change[]): Record<string, object> {
    const members = new Map<number, Record<string, Members[string]>>();
    for (const [index, { service, ordinal }] of changes.entries()) {
      const [first, { hostname = "" }] = wideEndpoint(world, this.#cluster, service, ordinal);
      const number = (this.#changes - changes.length + index) % ADDRESSES;
      const [key, endpoint] = namedEndpoint(
        addressOf(FIRST_ADDRESS + this.#cluster * ADDRESSES + number),
        hostname,
      );
      const changed = members.get(service) ?? {};
      changed[this.#keys.get(hostname) ?? first] = null;
      changed[key] = endpoint;
      members.set(service, changed);
      this.#keys.set(hostname, key);
    }
    return Object.fromEntries(
      Array.from(members, ([service, changed]) => [keyOf(service), memberPatch(changed)]),
    );
  }
}

const clusters = wideClusterIds(world).map((clusterId, cluster) => new ChurningCluster(cluster, clusterId));
const joining = clusters.values();
await Promise.all(
  Array.from({ length: JOINING }, async () => {
    for (const cluster of joining) await cluster.join();
  }),
);
const begun = performance.now();
let changes = 0;
const timer = setInterval(() => {
  for (const due = ((performance.now() - begun) / 1000) * perSecond; changes < due; changes++)
    clusters[changes % clusters.length]!.change();
}, TICK);

takeOrders({
  /** What came of the changes that were pushed since the last report. */
  report() {
    const ended = report;
    report = { milliseconds: [], pushes: 0 };
    return ended;
  },
  async end() {
    clearInterval(timer);
    for (const cluster of clusters) await cluster.settle();
  },
});
