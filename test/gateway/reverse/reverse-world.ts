import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { diffSnapshots } from "../../snapshot/diff-snapshots.ts";
import { TurningClock } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../open-gateway.ts";
import { answerNow, memoryDatabase, openKeyed } from "../open-keyed.ts";

export const BEGAN = Date.parse("2026-06-01T00:00:00Z");
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** How a service has its addresses. */
export type AddressKind = "headless" | "clusterset IP";

/** What clusters report: by service, the creation time of the export and its addresses. */
export interface ReportedServices {
  readonly [service: string]: { readonly since?: string; readonly has: readonly string[] };
}

/** A cluster that exports services of the namespace `shop` with these addresses. */
export function reporting(clusterId: string, kind: AddressKind, services: ReportedServices): ClusterSnapshot {
  const headless = kind === "headless";
  const exports = Object.entries(services).map(([name, { since, has }]) => {
    const members = headless ? endpoints(...has.map((address) => ({ address }))) : {};
    return [`shop/${name}`, exported({ headless, endpoints: members, ...(since && { exportedAt: since }) })];
  });
  const imports = Object.entries(services).map(([name, { has }]) => [
    `shop/${name}`,
    imported({ ips: [...has] }),
  ]);
  return snapshot(clusterId, {
    exports: Object.fromEntries(exports),
    imports: headless ? {} : Object.fromEntries(imports),
  });
}

/** A cluster that imports services with clusterset IPs, and exports none. */
export function importing(clusterId: string, services: Record<string, readonly string[]>): ClusterSnapshot {
  const imports = Object.entries(services).map(([name, ips]) => [
    `shop/${name}`,
    imported({ ips: [...ips] }),
  ]);
  return snapshot(clusterId, { imports: Object.fromEntries(imports) });
}

/** A gateway on a clock of its own that can be restarted. North may speak for all. */
export class ReverseWorld {
  readonly clock = new TurningClock(BEGAN);
  readonly database = memoryDatabase();
  readonly #scopes: readonly Visibility[];
  readonly #held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
  gateway!: Gateway;

  constructor(scopes: readonly Visibility[] = []) {
    this.#scopes = scopes;
    this.restart();
  }

  /** A world in which clusters pushed, one after the other. */
  static async of(...pushed: readonly ClusterSnapshot[]): Promise<ReverseWorld> {
    const world = new ReverseWorld();
    for (const one of pushed) await world.put(one);
    return world;
  }

  restart(): void {
    this.gateway = openKeyed({
      database: this.database,
      clock: this.clock,
      scopes: this.#scopes,
      names: { zones: { ttl: 30 }, merging: { grants: new Map([["north", "*"]]) } },
      limits: { lease: { minimumSeconds: 1, defaultSeconds: 60, maximumSeconds: 100 * DAY } },
    });
  }

  async put(one: ClusterSnapshot, lease = 90 * DAY): Promise<void> {
    const { generation } = await putSnapshot(this.gateway, one, { leaseSeconds: lease / 1000 });
    this.#held.set(one.clusterId, { snapshot: one, generation });
  }

  /** A delta that makes the snapshot what is reported. */
  async patch(one: ClusterSnapshot, lease = 90 * DAY): Promise<void> {
    const { clusterId } = one;
    const { snapshot: before, generation: base } = this.#held.get(clusterId)!;
    const delta = diffSnapshots(before, one);
    if (delta === undefined) return;
    const terms = { leaseSeconds: lease / 1000 };
    const { generation } = await patchCluster(this.gateway, clusterId, base, delta, terms);
    this.#held.set(clusterId, { snapshot: one, generation });
  }

  async leave(clusterId: string): Promise<void> {
    await this.gateway.leave(clusterId);
  }

  /** When the lease of a live cluster expires, in Unix milliseconds; undefined where it is not live. */
  leaseOf(clusterId: string): number | undefined {
    return this.gateway.state.live.get(clusterId)?.expiresAt;
  }

  /** Has a cluster's rows be lost. */
  damage(cluster: string): void {
    this.gateway.damaged({ cluster });
  }

  /** The service, and for an endpoint the cluster, that the reverse name of an address leads to. */
  owner(address: string, view?: string, scope: Visibility = {}): string | undefined {
    const query = encodeQuery(formatReverseName(usableAddress(address)!), "PTR");
    const { bytes } = answerNow(this.gateway.within(scope), query, view, this.clock.now());
    return decode(bytes)
      .answer[0]?.split(" ")[3]
      ?.replace(/^[0-9a-f-]+-[0-9a-f]+\./, "")
      .replace(/\.shop\.svc\.clusterset\.local\.?$/, "");
  }

  /** Who is said to have come later. */
  async losers(scope: Visibility = {}): Promise<string[]> {
    const { findings } = (await this.gateway.within(scope).survey())!;
    return findings
      .filter(({ reason }) => reason === "ReverseNameTaken")
      .map(({ clusterId, namespace, name, message }) => `${clusterId} ${namespace}/${name}: ${message}`);
  }
}
