import { formatAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import { readFoldedName } from "../dns/folded-name.ts";
import { parseName } from "../dns/name.ts";
import { compareText } from "../merge/order.ts";
import { nameOf, namespaceOf } from "../merge/service-key.ts";
import { findSet, fixedDataBytes, read16, recordCount, recordsOf } from "../zone/record-block.ts";
import { CLUSTERSET_TREE } from "../zone/tree-key.ts";
import type { World } from "../zone/world.ts";
import { CompiledKey } from "./compiled-key.ts";
import type { KeyWorld } from "./key-world.ts";

/** A service of the clusterset zone in one view. */
export interface ServiceListing {
  readonly namespace: string;
  readonly name: string;
  /** Some of its addresses: IPv4 first, in the order of its records. */
  readonly addresses: readonly string[];
  readonly addressCount: number;
  /** Its named ports that have SRV records: `_http._tcp`, with the first number. */
  readonly ports: readonly { readonly name: string; readonly number: number }[];
  /** The clusters on which its addresses depend; empty if it has no address. */
  readonly clusters: readonly string[];
  /** Whether clusters disagree on its properties; undefined where that is not known. */
  readonly hasConflict?: boolean | undefined;
}

/** Which services are listed. */
export interface ServiceSearch {
  /** Words that `<service>.<namespace>` must contain, without regard to case. Empty for all services. */
  readonly words: readonly string[];
  /** A cluster id; undefined for outside. */
  readonly view: string | undefined;
  /** The number of matches to skip. */
  readonly offset: number;
  readonly most: number;
}

/** The most addresses of a service that are listed. */
const MOST_ADDRESSES = 4;
/** Services of one step. */
const SERVICES_AT_ONCE = 256;
const PORT = /^_[^.]+\._[^.]+$/;

/**
 * The services of the clusterset zone that match a search, and in how many that match it clusters have a part, in steps. Those that are listed are
 * compiled. Leases are not applied.
 */
export function* listServices(
  world: KeyWorld,
  { words, view, offset, most }: ServiceSearch,
): Generator<void, { readonly total: number; readonly services: readonly ServiceListing[] }> {
  const [tree] = world.context.trees;
  const viewIndex = world.frame.viewOf(view);
  const wanted = words.map((word) => word.toLowerCase());
  const services: ServiceListing[] = [];
  let total = 0;
  let read = 0;
  for (const key of world.entries.serviceKeys()) {
    if (++read % SERVICES_AT_ONCE === 0) yield;
    const text = `${nameOf(key)}.${namespaceOf(key)}`.toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    if (world.isLacking(tree!, viewIndex, namespaceOf(key))) continue;
    total++;
    if (total <= offset || services.length >= most) continue;
    const unit = world.unitOf(tree!, key);
    // No part counts.
    if (!unit.hasService) total--;
    else services.push({ ...listingOf(unit.key, key, view), hasConflict: unit.conflicts.length > 0 });
    yield;
  }
  return { total, services };
}

/** A service in one view; undefined if it has no name there, or is not in memory. @param key `<namespace>/<name>` @param view a cluster id; undefined for outside */
export function serviceAt(
  world: Pick<World, "frame" | "locate">,
  key: string,
  view: string | undefined,
): ServiceListing | undefined {
  const { frame } = world;
  const zone = frame.trees[0]!.canonicalZone;
  const name = readFoldedName(parseName(`${textOf(key)}.${zone.name}`), 0)!;
  const found = world.locate(zone, 0, name, frame.viewOf(view));
  if (found === undefined || "missing" in found || !(found.names instanceof CompiledKey)) return undefined;
  return listingOf(found.names, key, view);
}

function textOf(key: string): string {
  return `${nameOf(key)}.${namespaceOf(key)}.svc`;
}

function listingOf(names: CompiledKey | undefined, key: string, view: string | undefined): ServiceListing {
  const addresses: string[] = [];
  const clusters = new Set<string>();
  const ports: { name: string; number: number }[] = [];
  const own = textOf(key).toLowerCase();
  let addressCount = 0;
  for (const node of names?.nodesOf(CLUSTERSET_TREE) ?? []) {
    const { bytes, leaseGroups } = names!;
    const text = names!.textOf(node);
    const list = names!.setListOf(node, names!.viewOf(view));
    if (list === 0) continue;
    const prefix = text.toLowerCase().endsWith(`.${own}`) ? text.slice(0, -own.length - 1) : undefined;
    if (prefix !== undefined && PORT.test(prefix)) {
      const set = findSet(bytes, list, RecordType.SRV);
      if (set !== 0) ports.push({ name: prefix, number: read16(bytes, recordsOf(bytes, set)) });
    }
    if (text.toLowerCase() !== own) continue;
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(bytes, list, type);
      if (set === 0) continue;
      const count = recordCount(bytes, set);
      addressCount += count;
      for (const cluster of leaseGroups[names!.leaseGroupOf(set)] ?? []) clusters.add(cluster);
      let at = recordsOf(bytes, set);
      for (let left = count; left > 0 && addresses.length < MOST_ADDRESSES; left--) {
        addresses.push(formatAddress(bytes.subarray(at, at + fixedDataBytes(type))));
        at += fixedDataBytes(type);
      }
    }
  }
  return {
    namespace: namespaceOf(key),
    name: nameOf(key),
    addresses,
    addressCount,
    ports: ports.sort((one, other) => compareText(one.name, other.name)),
    clusters: [...clusters].sort(),
  };
}
