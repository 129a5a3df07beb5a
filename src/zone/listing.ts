import { formatAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import { formatName } from "../dns/name.ts";
import { formatCharacterString } from "../dns/presentation.ts";
import { formatReverseName } from "../dns/reverse.ts";
import type { Generation } from "./generation/generation.ts";
import { KEEP_ORDER, NodeFlag } from "./segment/layout.ts";
import { fixedDataBytes, read16, recordCount, recordsOf, setEnd, targetOf } from "./segment/record-block.ts";
import type { ReverseSegment } from "./segment/reverse-segment.ts";
import type { Segment } from "./segment/segment.ts";
import { CLUSTERSET_TREE } from "./segment/tree-key.ts";
import { SOA_TIMERS } from "./soa-timers.ts";

/** One record in presentation form (RFC 1035 section 5.1). `ttl` in seconds, names absolute. */
export interface ListedRecord {
  readonly name: string;
  readonly ttl: number;
  readonly type: string;
  readonly rdata: string;
}

const TYPE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(RecordType).map(([name, type]) => [type, name]),
);

/**
 * Every record of a generation in one zone and one view; leases are not applied. PTR records
 * come last. `zone` defaults to the canonical one, `view` (a cluster id) to outside.
 * @throws {RangeError} if the generation does not have the zone or the view.
 */
export function* listRecords(
  generation: Generation,
  { zone, view }: { readonly zone?: string | undefined; readonly view?: string | undefined } = {},
): Generator<ListedRecord> {
  const { frame, stems } = generation;
  const zoneName = zone ?? frame.trees[0]!.canonicalZone.name;
  const listed = frame.zones.find(({ name }) => name === zoneName);
  if (listed === undefined) throw new RangeError(`the gateway has no zone ${zoneName}`);
  const viewIndex = frame.viewOf(view);
  if (view !== undefined && viewIndex < 0)
    throw new RangeError(`the gateway does not know the cluster ${JSON.stringify(view)}`);
  const tree = frame.treeFor(listed, viewIndex);
  if (tree < 0) throw new RangeError(`${zoneName} exists only in the views of clusters: name a cluster`);
  const server = `ns.dns.${zoneName}`;
  const { negativeTtl } = frame;
  const { refresh, retry, expire } = SOA_TIMERS;
  const timers = `${generation.serial} ${refresh} ${retry} ${expire} ${negativeTtl}`;
  yield {
    name: zoneName,
    ttl: negativeTtl,
    type: "SOA",
    rdata: `${server} hostmaster.${zoneName} ${timers}`,
  };
  yield { name: zoneName, ttl: negativeTtl, type: "NS", rdata: server };
  const listing = { generation, tree: frame.trees[tree]!.key, view: viewIndex, zone: zoneName };
  for (const segment of [stems, ...generation.segments()]) yield* listSegment(segment, listing);
  for (const segment of generation.reverseSegments()) yield* listReverse(segment, listing);
}

interface Listing {
  readonly generation: Generation;
  /** The key of the zone's tree. */
  readonly tree: string;
  readonly view: number;
  readonly zone: string;
}

function* listSegment(segment: Segment, listing: Listing): Generator<ListedRecord> {
  const tree = segment.treeOf(listing.tree);
  if (tree < 0) return;
  const ownView = segment.viewOf(listing.generation.frame.viewName(listing.view));
  for (const node of segment.nodes()) {
    if (segment.treeAbove(node) !== tree) continue;
    const list = segment.setListOf(node, ownView);
    if (list === 0) continue;
    const labels = labelsOf(segment, node);
    const isListed = segment.hasFlag(node, NodeFlag.everywhere) || !isLacking(listing, labels);
    if (isListed) yield* listSets(segment, list, below(labels, listing.zone), listing.zone);
  }
}

function* listReverse(segment: ReverseSegment, listing: Listing): Generator<ListedRecord> {
  const { generation, tree, view } = listing;
  const { frame } = generation;
  for (const bytes of segment.addresses()) {
    const target = segment.find(bytes, bytes.length, frame.viewName(view));
    if (target === 0 || segment.treeOf(target) !== tree) continue;
    const labels = readLabels(segment.nameOf(target, bytes));
    if (isLacking(listing, labels)) continue;
    const rdata = below(labels, frame.treeByKey.get(tree)!.canonicalZone.name);
    const ttl = segment.ttlOf(target);
    yield { name: formatReverseName(bytes), ttl, type: "PTR", rdata };
  }
}

/** Whether a name of the clusterset is in a namespace that the view lacks. */
function isLacking({ generation: { frame }, tree, view }: Listing, labels: readonly string[]): boolean {
  if (tree !== CLUSTERSET_TREE || labels.length < 2 || labels.at(-1) !== "svc") return false;
  return frame.lacks(view, frame.namespaceOf(labels.at(-2)!));
}

function* listSets(segment: Segment, list: number, name: string, zone: string): Generator<ListedRecord> {
  const { bytes: heap } = segment;
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--) {
    const type = heap[set]!;
    const ttl = segment.ttlOf(set) & ~KEEP_ORDER;
    const count = recordCount(heap, set);
    const fixed = fixedDataBytes(type);
    let at = recordsOf(heap, set);
    for (let index = 0; index < count; index++) {
      const bytes = fixed === 0 ? 2 + read16(heap, at) : fixed;
      yield {
        name,
        ttl,
        type: TYPE_NAMES.get(type) ?? `TYPE${type}`,
        rdata: formatRdata(segment, type, at, bytes, count, zone),
      };
      at += bytes;
    }
    set = setEnd(heap, set);
  }
}

function formatRdata(
  segment: Segment,
  type: number,
  at: number,
  bytes: number,
  count: number,
  zone: string,
): string {
  const { bytes: heap } = segment;
  if (type === RecordType.A || type === RecordType.AAAA) return formatAddress(heap.subarray(at, at + bytes));
  if (type === RecordType.SRV)
    return `0 ${Math.max(1, Math.floor(100 / count))} ${read16(heap, at)} ${below(labelsOf(segment, targetOf(heap, at)), zone)}`;
  if (type === RecordType.CNAME) return formatName(heap, at + 2);
  return formatStrings(heap.subarray(at + 2, at + bytes));
}

/** The character-strings of a TXT record, each in quotes. */
function formatStrings(rdata: Uint8Array): string {
  const strings: string[] = [];
  for (let at = 0; at < rdata.length; at += rdata[at]! + 1)
    strings.push(formatCharacterString(rdata.subarray(at + 1, at + 1 + rdata[at]!)));
  return strings.join(" ");
}

/** The labels of a node's relative name in text, the leftmost first. */
function labelsOf(segment: Segment, start: number): string[] {
  const { bytes } = segment;
  const labels: string[] = [];
  for (let node = start; node >= 0; node = segment.parentOf(node)) {
    const run = segment.runOf(node);
    labels.push(...readLabels(bytes.subarray(run + 1, run + 1 + bytes[run]!)));
  }
  return labels;
}

/** Labels with their length bytes, in text. */
function readLabels(bytes: Uint8Array): string[] {
  const labels: string[] = [];
  for (let at = 0; at < bytes.length; at += bytes[at]! + 1)
    labels.push(formatLabel(bytes.subarray(at, at + 1 + bytes[at]!)));
  return labels;
}

/** A label with its length byte, in text without a dot. */
function formatLabel(label: Uint8Array): string {
  return formatName(Uint8Array.of(...label, 0)).slice(0, -1);
}

function below(labels: readonly string[], zone: string): string {
  const relative = labels.map((label) => `${label}.`).join("");
  return relative + (zone === "." && relative !== "" ? "" : zone);
}

/** A record as a line of a zone file (RFC 1035 section 5). */
export function zoneFileLine({ name, ttl, type, rdata }: ListedRecord): string {
  return `${name}\t${ttl}\tIN\t${type}\t${rdata}`;
}
