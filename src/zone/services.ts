import { formatAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import type { Page } from "./generation/directory.ts";
import type { Generation } from "./generation/generation.ts";
import { runLabels } from "./segment/blocks/label-run.ts";
import { findSet, fixedDataBytes, read16, recordCount, recordsOf } from "./segment/record-block.ts";
import type { Segment } from "./segment/segment.ts";
import { CLUSTERSET_TREE } from "./segment/tree-key.ts";

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

/** A service with the segment that has its names. */
interface FoundService {
  readonly segment: Segment;
  readonly node: number;
  readonly namespace: string;
  readonly name: string;
  /** `<service>.<namespace>` in lower case. */
  readonly words: string;
  /** The nodes of `_<port>._<protocol>`. */
  readonly ports: number[];
}

/** The services of a segment; segments outlive generations. */
const found = new WeakMap<Segment, readonly FoundService[]>();
const sorted = new WeakMap<Page<Segment>, readonly FoundService[]>();

/**
 * The services of the clusterset zone that match a search, and how many there are in all. Leases are not applied. The first
 * call for a generation reads the nodes of its new segments; later calls read the services' names.
 */
export function listServices(
  { frame, names }: Generation,
  { words, view, offset, most }: ServiceSearch,
): { readonly total: number; readonly services: readonly ServiceListing[] } {
  const viewIndex = frame.viewOf(view);
  const wanted = words.map((word) => word.toLowerCase());
  const services: ServiceListing[] = [];
  let total = 0;
  for (const service of servicesIn(names)) {
    if (frame.lacks(viewIndex, frame.namespaceOf(service.namespace))) continue;
    if (!wanted.every((word) => service.words.includes(word))) continue;
    if (total >= offset && services.length < most)
      services.push(describe(service, frame.viewName(viewIndex)));
    total++;
  }
  return { total, services };
}

/** The service at a node of a segment, in one view; undefined if the node is none. @param view a cluster id; undefined for outside */
export function serviceAt(
  segment: Segment,
  node: number,
  view: string | undefined,
): ServiceListing | undefined {
  const service = servicesOf(segment).find((one) => one.node === node);
  return service && describe(service, view);
}

/** All services by namespace and name. */
function servicesIn(names: Page<Segment>): readonly FoundService[] {
  let all = sorted.get(names);
  if (all === undefined) {
    all = [...names.segments()]
      .flatMap((segment) => servicesOf(segment))
      .sort((one, other) => order(one.namespace, other.namespace) || order(one.name, other.name));
    sorted.set(names, all);
  }
  return all;
}

/** The kind of a node in the clusterset's tree, by its path from the apex. */
const Step = { service: 1, protocol: 2, port: 3 } as const;

function servicesOf(segment: Segment): readonly FoundService[] {
  const known = found.get(segment);
  if (known !== undefined) return known;
  const services = new Map<number, FoundService>();
  const steps = new Map<number, number>();
  const tree = segment.treeOf(CLUSTERSET_TREE);
  // A parent comes before its children.
  for (const node of tree < 0 ? [] : segment.nodes()) {
    const parent = segment.parentOf(node);
    const step = steps.get(parent);
    const labels = runLabels(segment.bytes, segment.runOf(node));
    if (parent < 0) {
      if (segment.treeAbove(node) !== tree) continue;
      const [name, namespace, above, ...others] = labels;
      if (above !== "svc" || others.length > 0) continue;
      const words = `${name}.${namespace}`.toLowerCase();
      steps.set(node, Step.service);
      services.set(node, { segment, node, namespace: namespace!, name: name!, words, ports: [] });
    } else if ((step === Step.service || step === Step.protocol) && labels[0]!.startsWith("_")) {
      steps.set(node, step + 1);
      if (step === Step.protocol) services.get(segment.parentOf(parent))!.ports.push(node);
    }
  }
  const all = [...services.values()];
  found.set(segment, all);
  return all;
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function describe(
  { segment, node, namespace, name, ports }: FoundService,
  view: string | undefined,
): ServiceListing {
  const { bytes: heap } = segment;
  const ownView = segment.viewOf(view);
  const list = segment.setListOf(node, ownView);
  const addresses: string[] = [];
  const clusters = new Set<string>();
  let addressCount = 0;
  for (const type of [RecordType.A, RecordType.AAAA]) {
    const set = list === 0 ? 0 : findSet(heap, list, type);
    if (set === 0) continue;
    const count = recordCount(heap, set);
    const bytes = fixedDataBytes(type);
    addressCount += count;
    for (const cluster of segment.leaseGroups[segment.leaseGroupOf(set)] ?? []) clusters.add(cluster);
    for (let at = recordsOf(heap, set), left = count; left > 0 && addresses.length < MOST_ADDRESSES; left--) {
      addresses.push(formatAddress(heap.subarray(at, at + bytes)));
      at += bytes;
    }
  }
  return {
    ...{ namespace, name, addresses, addressCount },
    ports: ports.flatMap((port) => describePort(segment, port, ownView)),
    clusters: [...clusters].sort(),
  };
}

function describePort(segment: Segment, node: number, ownView: number): ServiceListing["ports"] {
  const { bytes } = segment;
  const list = segment.setListOf(node, ownView);
  const set = list === 0 ? 0 : findSet(bytes, list, RecordType.SRV);
  if (set === 0) return [];
  const name = [node, segment.parentOf(node)]
    .flatMap((one) => runLabels(bytes, segment.runOf(one)))
    .join(".");
  return [{ name, number: read16(bytes, recordsOf(bytes, set)) }];
}
