import { Kind } from "../database/places.ts";
import { formatReverseName } from "../dns/address.ts";
import { formatName, RecordType, readFoldedName } from "../dns/name.ts";
import { formatRdata } from "../dns/presentation.ts";
import { compareKeys, namespaceOf } from "../merge/order.ts";
import {
  fixedDataBytes,
  KEEP_ORDER,
  type Names,
  read16,
  recordCount,
  recordsOf,
  setEnd,
  srvWeight,
  targetOf,
  type Zone,
} from "../zone/world.ts";
import type { PlannedTree } from "../zone/zone-context.ts";
import { SOA_TIMERS } from "../zone/zone-plan.ts";
import type { KeyWorld } from "./key-world.ts";

/** One record in presentation form (RFC 1035 section 5.1). `ttl` in seconds, names absolute. */
export interface ListedRecord {
  readonly name: string;
  readonly ttl: number;
  readonly type: string;
  readonly rdata: string;
}

/** A zone as one view has it. */
interface Listing {
  readonly world: KeyWorld;
  readonly zone: Zone;
  /** The index of its tree. */
  readonly tree: number;
  /** Its index. */
  readonly view: number;
}

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(RecordType).map(([name, type]) => [type, name]),
);

/**
 * Every record of one zone in one view, by key; leases are not applied. PTR records come last. `zone`
 * defaults to the canonical one, `view` (a cluster id) to outside.
 * @throws {RangeError} if the world does not have the zone or the view
 */
export function* listRecords(
  world: KeyWorld,
  { zone: name, view }: { readonly zone?: string | undefined; readonly view?: string | undefined } = {},
): Generator<ListedRecord> {
  const { frame } = world;
  const zone =
    name === undefined ? frame.trees[0]!.canonicalZone : frame.zones.find((one) => one.name === name);
  if (zone === undefined) throw new RangeError(`the gateway has no zone ${name}`);
  if (view !== undefined && !frame.views.includes(view))
    throw new RangeError(`the gateway does not know the cluster ${JSON.stringify(view)}`);
  const viewIndex = frame.viewOf(view);
  const tree = frame.treeFor(zone, viewIndex);
  if (tree < 0) throw new RangeError(`${zone.name} exists only in the views of clusters: name a cluster`);
  const listing: Listing = { world, zone, tree, view: viewIndex };
  yield* listApex(listing);
  yield* listFixed(listing);
  const planned = world.context.trees[tree]!;
  const keys = keysOf(world, planned);
  for (const key of keys) yield* listKey(listing, planned, key);
  yield* listReverse(listing, planned, keys);
}

/** The keys that may have names in a tree, in order. */
export function keysOf({ entries, context }: KeyWorld, { plan }: PlannedTree): string[] {
  const keys = new Set(context.hosts.keys());
  // Hosts whose names have no namespace.
  keys.delete("");
  const add = (more: Iterable<string>) => {
    for (const key of more) keys.add(key);
  };
  if (plan.kind !== "cluster-local") add(entries.serviceKeys());
  else {
    const { clusterId, zone } = plan.cluster;
    add(entries.keysOf(clusterId, Kind.service));
    if (zone.pods === "verified") add(entries.podKeys(clusterId));
  }
  return [...keys].sort(compareKeys);
}

/** SOA and NS. */
function* listApex({ world, zone: { name } }: Listing): Generator<ListedRecord> {
  const ttl = world.frame.negativeTtl;
  const { refresh, retry, expire } = SOA_TIMERS;
  const server = `ns.dns.${name}`;
  const rdata = `${server} hostmaster.${name} ${world.serial} ${refresh} ${retry} ${expire} ${ttl}`;
  yield { name, ttl, type: "SOA", rdata };
  yield { name, ttl, type: "NS", rdata: server };
}

/** Names that exist whatever clusters report. */
function* listFixed(listing: Listing): Generator<ListedRecord> {
  const { world, zone, tree, view } = listing;
  const { fixed } = world;
  for (const node of fixed.nodesOf(world.frame.trees[tree]!.key)) {
    // A host may have the name of a service.
    const name = readFoldedName(wireName(fixed, node, zone.wire), 0)!;
    const located = world.locate(zone, tree, name, view);
    if (located?.names === fixed) yield* listNode(listing, fixed, node);
  }
}

function* listKey(listing: Listing, planned: PlannedTree, key: string): Generator<ListedRecord> {
  const { world, view } = listing;
  if (world.isLacking(planned, view, namespaceOf(key))) return;
  const names = world.unitOf(planned, key).key;
  if (names === undefined) return;
  for (const node of names.nodesOf(planned.key, world.frame.viewName(view)))
    yield* listNode(listing, names, node);
}

function* listReverse(
  { world, tree, view }: Listing,
  planned: PlannedTree,
  keys: readonly string[],
): Generator<ListedRecord> {
  const zone = world.frame.trees[tree]!.canonicalZone;
  const listed = new Set<string>();
  for (const key of keys)
    for (const [address] of world.unitOf(planned, key).reverse) {
      const name = formatReverseName(address);
      if (listed.has(name)) continue;
      listed.add(name);
      const target = world.ptrTarget(address, view);
      if (target === undefined || target.zone !== zone) continue;
      yield { name, ttl: target.ttl, type: "PTR", rdata: formatName(target.name) };
    }
}

function* listNode(listing: Listing, names: Names, node: number): Generator<ListedRecord> {
  const { world, zone, view } = listing;
  const { bytes: heap } = names;
  const list = names.setListOf(node, names.viewOf(world.frame.viewName(view)));
  if (list === 0) return;
  const name = nameText(names, node, zone);
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--, set = setEnd(heap, set)) {
    const code = heap[set]!;
    const type = TYPE_NAMES.get(code)!;
    const ttl = names.ttlOf(set) & ~KEEP_ORDER;
    const count = recordCount(heap, set);
    const fixed = fixedDataBytes(code);
    let at = recordsOf(heap, set);
    for (let left = count; left > 0; left--) {
      const end = at + (fixed === 0 ? 2 + read16(heap, at) : fixed);
      const rdata =
        code === RecordType.SRV
          ? `0 ${srvWeight(count)} ${read16(heap, at)} ${nameText(names, targetOf(heap, at), zone)}`
          : formatRdata(heap, { type: code, dataStart: fixed === 0 ? at + 2 : at, end });
      yield { name, ttl, type, rdata };
      at = end;
    }
  }
}

/** The name of a node as text; the zone's name as it is configured. */
function nameText(names: Names, node: number, zone: Zone): string {
  const length = names.nameBytes(node);
  if (length === 0) return zone.name;
  const text = formatName(wireName(names, node, Uint8Array.of(0)));
  return zone.name === "." ? text : text + zone.name;
}

/** The name of a node before another name, in wire form. */
function wireName(names: Names, node: number, above: Uint8Array): Uint8Array {
  const length = names.nameBytes(node);
  const wire = new Uint8Array(length + above.length);
  names.copyName(node, wire, 0);
  wire.set(above, length);
  return wire;
}

/** A record as a line of a zone file (RFC 1035 section 5). */
export function zoneFileLine({ name, ttl, type, rdata }: ListedRecord): string {
  return `${name}\t${ttl}\tIN\t${type}\t${rdata}`;
}
