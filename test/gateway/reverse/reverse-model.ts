import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import { nameOf, namespaceOf } from "../../../src/merge/order.ts";
import { compileClustersetKey, mergeEntries } from "../../../src/names/compile-key.ts";
import type { KeyWorld } from "../../../src/names/key-world.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../../src/snapshot/schema.ts";
import { addressLabel } from "../../../src/zone/kinds/endpoint-records.ts";
import type { ReverseCandidate } from "../../../src/zone/kinds/tree-scope.ts";
import { finish } from "../../../src/zone/steps.ts";

/** What a cluster reports of an address, and since which push by own exports of a namespace. */
interface Reported {
  /** By namespace. */
  readonly exportedSince: ReadonlyMap<string, number>;
  /** Services, `<namespace>/<name>`. */
  readonly exports: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
}

/**
 * Whose an address is, as docs/reference/names-and-records.md says it, of clusters without grants: by looking
 * at everything.
 */
export class ReverseModel {
  /** By cluster, then by reverse name. */
  readonly #reported = new Map<string, Map<string, Reported>>();
  #pushes = 0;

  push({ clusterId, namespaces, exports, imports, services }: ClusterSnapshot): void {
    this.#pushes++;
    const all: [address: string, key: string, isExport: boolean][] = [];
    for (const [key, { headless, endpoints, publishNotReadyAddresses }] of Object.entries(exports))
      for (const address of addressesIn(endpoints, publishNotReadyAddresses))
        all.push([address, key, headless]);
    for (const [key, { ips, managed, endpoints }] of Object.entries(imports)) {
      const exported = Object.hasOwn(exports, key) ? exports[key] : undefined;
      for (const address of ips) all.push([address, key, exported?.headless === false && managed !== true]);
      for (const groups of Object.values(endpoints))
        for (const address of addressesIn(groups, false)) all.push([address, key, false]);
    }
    // Those of its own zone make an address contested in its own view.
    for (const [key, { clusterIPs = [], headless, endpoints, publishNotReadyAddresses }] of Object.entries(
      services,
    )) {
      const pods = headless ? addressesIn(endpoints, publishNotReadyAddresses) : [];
      for (const address of [...clusterIPs, ...pods]) all.push([address, `local ${key}`, false]);
    }
    const before = this.#reported.get(clusterId);
    const now = new Map<string, Reported>();
    for (const [address, key, isExport] of all) {
      const bytes = usableAddress(address);
      if (bytes === undefined) continue;
      const name = formatReverseName(bytes).slice(0, -1);
      const known = now.get(name) ?? {
        exportedSince: new Map<string, number>(),
        exports: new Set(),
        all: new Set(),
      };
      const counts = isExport && Object.hasOwn(namespaces, namespaceOf(key)) && LABELS.test(key);
      const own = new Set([...known.exports, ...(counts ? [key] : [])]);
      const namespace = namespaceOf(key);
      const since = before?.get(name)?.exportedSince.get(namespace) ?? this.#pushes;
      now.set(name, {
        exportedSince: counts ? new Map([...known.exportedSince, [namespace, since]]) : known.exportedSince,
        exports: own,
        all: new Set([...known.all, key]),
      });
    }
    this.#reported.set(clusterId, now);
  }

  leave(clusterId: string): void {
    this.#reported.delete(clusterId);
  }

  /** Whether several services have the address of a reverse name. */
  isContested(name: string): boolean {
    const services = [...this.#reported].flatMap(([clusterId, addresses]) =>
      [...(addresses.get(name)?.all ?? [])].map((key) => `${clusterId} ${key}`),
    );
    return services.length > 1;
  }

  /** The targets of the PTR records for clients outside. @param world of a scope */
  targets(name: string, world: KeyWorld): string[] {
    const live = new Set(world.entries.clusters().map(({ clusterId }) => clusterId));
    const line = [...this.#reported]
      .filter(([clusterId, addresses]) => live.has(clusterId) && addresses.has(name))
      .map(([clusterId, addresses]) => ({ clusterId, ...addresses.get(name)! }));
    const isVisible = (key: string) => world.entries.service(namespaceOf(key), nameOf(key)) !== undefined;
    const exporters = line
      .map(({ exports, ...one }) => ({ ...one, exports: [...exports].filter(isVisible) }))
      .filter(({ exports }) => exports.length > 0)
      .map((one) => ({
        ...one,
        since: Math.min(...one.exports.map((key) => one.exportedSince.get(namespaceOf(key))!)),
      }))
      .sort((one, other) => one.since - other.since);
    const found =
      exporters.length > 0
        ? oldest(world, name, exporters[0]!.clusterId, exporters[0]!.exports)
        : line.flatMap(({ clusterId, all }) => oldest(world, name, clusterId, [...all]));
    const inOrder = found.sort(compareWanted);
    // Of what one cluster says of an address, a hostname comes first.
    const called = inOrder.find(
      ({ clusterId, candidate }) => clusterId === inOrder[0]!.clusterId && candidate.label !== undefined,
    );
    return [called ?? inOrder[0]].flatMap((one) => (one === undefined ? [] : targetOf(one)));
  }
}

const LABELS = /^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/;

interface Wanted {
  readonly address: Uint8Array;
  readonly candidate: ReverseCandidate;
  readonly clusterId: string;
}

/** The records that services want for a cluster. */
function oldest(world: KeyWorld, name: string, clusterId: string, keys: readonly string[]): Wanted[] {
  return keys.flatMap((key) => {
    const entries = LABELS.test(key) ? world.entries.service(namespaceOf(key), nameOf(key)) : undefined;
    if (entries === undefined) return [];
    // As clients outside have the service: where exports do not reach some clusters, others want other names.
    const merged = { ...mergeEntries(key, entries, world.rules), audiences: [] };
    const { reverse } = finish(compileClustersetKey(world.context, key, merged));
    return reverse.flatMap(([address, candidate]) => {
      const { view, claimants } = candidate.source;
      const isIt = view === undefined && claimants.includes(clusterId);
      return isIt && formatReverseName(address).slice(0, -1) === name
        ? { address, candidate, clusterId }
        : [];
    });
  });
}

function compareWanted(one: Wanted, other: Wanted): number {
  const [{ since, claimants }, { since: otherSince, claimants: others }] = [
    one.candidate.source,
    other.candidate.source,
  ];
  if (since !== otherSince) return since < otherSince ? -1 : 1;
  const places = claimants.indexOf(one.clusterId) - others.indexOf(other.clusterId);
  return places || (textOf(one) < textOf(other) ? -1 : 1);
}

function textOf({ clusterId, candidate: { source } }: Wanted): string {
  return `${clusterId} ${source.namespace}/${source.name}`;
}

function targetOf({ address, candidate: { source, label } }: Wanted): string {
  return [label ?? addressLabel(address), ...source.above, "clusterset.local"].join(".");
}

function addressesIn(groups: EndpointGroups, evenIfNotReady: boolean | undefined): string[] {
  return Object.values(groups).flatMap(({ members }) =>
    Object.values(members).flatMap(({ address, ready }) =>
      ready !== false || evenIfNotReady ? address : [],
    ),
  );
}
