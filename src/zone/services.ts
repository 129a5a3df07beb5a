import { formatAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import type { ZoneImage } from "./image/image.ts";
import { SET_HEADER_BYTES } from "./image/layout.ts";
import { findSet, fixedDataBytes, read16 } from "./record-block.ts";

/** A service of the clusterset zone in one view. */
export interface ServiceListing {
  readonly namespace: string;
  readonly name: string;
  /** Some of its addresses: IPv4 first, in the order of the image. */
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

/** Services of an image by namespace and name, found in one pass over its nodes. */
interface ServiceIndex {
  /** `<service>.<namespace>` in lower case. */
  readonly names: readonly string[];
  readonly nodes: Uint32Array;
  /** The nodes of `_<port>._<protocol>` of each service. */
  readonly ports: ReadonlyMap<number, readonly number[]>;
}

const indexes = new WeakMap<ZoneImage, ServiceIndex>();

/**
 * The services of the clusterset zone that match a search, and how many there are in all. Leases are not applied. The first
 * call for an image reads all its nodes; later calls read the services' names.
 */
export function listServices(
  image: ZoneImage,
  { words, view, offset, most }: ServiceSearch,
): { readonly total: number; readonly services: readonly ServiceListing[] } {
  const index = indexes.get(image) ?? buildIndex(image);
  indexes.set(image, index);
  const viewIndex = image.viewOf(view);
  const wanted = words.map((word) => word.toLowerCase());
  const services: ServiceListing[] = [];
  let total = 0;
  for (const [place, name] of index.names.entries()) {
    const node = index.nodes[place]!;
    if (!image.existsIn(node, viewIndex) || !wanted.every((word) => name.includes(word))) continue;
    if (total >= offset && services.length < most)
      services.push(describe(image, node, viewIndex, index.ports.get(node) ?? []));
    total++;
  }
  return { total, services };
}

/** The kind of a node in the clusterset's tree, by its path from the apex. */
const Step = { none: 0, apex: 1, svc: 2, namespace: 3, service: 4, protocol: 5, port: 6 } as const;

function buildIndex(image: ZoneImage): ServiceIndex {
  const { nodeParent, nodes, trees } = image;
  const steps = new Uint8Array(nodes);
  // The clusterset's tree is the first one, and a parent comes before its children.
  steps[0] = Step.apex;
  const found: { readonly node: number; readonly namespace: string; readonly name: string }[] = [];
  const ports = new Map<number, number[]>();
  for (let node = trees; node < nodes; node++) {
    const parent = nodeParent[node]!;
    const step = steps[parent]!;
    if (step === Step.none || step === Step.port) continue;
    if (step === Step.apex && labelOf(image, node) !== "svc") continue;
    if (step >= Step.service && !labelOf(image, node).startsWith("_")) continue;
    steps[node] = step + 1;
    if (step === Step.namespace)
      found.push({ node, namespace: labelOf(image, parent), name: labelOf(image, node) });
    else if (step === Step.protocol) {
      const service = nodeParent[parent]!;
      const others = ports.get(service);
      if (others === undefined) ports.set(service, [node]);
      else others.push(node);
    }
  }
  found.sort((one, other) => order(one.namespace, other.namespace) || order(one.name, other.name));
  return {
    names: found.map(({ name, namespace }) => `${name}.${namespace}`.toLowerCase()),
    nodes: Uint32Array.from(found, ({ node }) => node),
    ports,
  };
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function describe(
  image: ZoneImage,
  node: number,
  view: number,
  portNodes: readonly number[],
): ServiceListing {
  const list = image.setListOf(node, view);
  const addresses: string[] = [];
  const clusters = new Set<string>();
  let addressCount = 0;
  for (const type of [RecordType.A, RecordType.AAAA]) {
    const set = list === 0 ? 0 : findSet(image.heap, list, type);
    if (set === 0) continue;
    const count = read16(image.heap, set + 5);
    const bytes = fixedDataBytes(type);
    addressCount += count;
    for (const cluster of image.leaseGroups[read16(image.heap, set + 3)] ?? []) clusters.add(cluster);
    for (
      let at = set + SET_HEADER_BYTES, left = count;
      left > 0 && addresses.length < MOST_ADDRESSES;
      left--
    ) {
      addresses.push(formatAddress(image.heap.subarray(at, at + bytes)));
      at += bytes;
    }
  }
  return {
    namespace: labelOf(image, image.nodeParent[node]!),
    name: labelOf(image, node),
    addresses,
    addressCount,
    ports: portNodes.flatMap((port) => describePort(image, port, view)),
    clusters: [...clusters].sort(),
  };
}

function describePort(image: ZoneImage, node: number, view: number): ServiceListing["ports"] {
  const list = image.setListOf(node, view);
  const set = list === 0 ? 0 : findSet(image.heap, list, RecordType.SRV);
  if (set === 0) return [];
  const name = `${labelOf(image, node)}.${labelOf(image, image.nodeParent[node]!)}`;
  return [{ name, number: read16(image.heap, set + SET_HEADER_BYTES) }];
}

/** Labels of services, namespaces and ports are letters, digits and dashes, and underscores. */
function labelOf({ heap, nodeLabel }: ZoneImage, node: number): string {
  const at = nodeLabel[node]!;
  return String.fromCharCode(...heap.subarray(at + 1, at + 1 + heap[at]!));
}
