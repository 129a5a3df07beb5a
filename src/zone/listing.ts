import { formatAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import { formatName } from "../dns/name.ts";
import { formatCharacterString } from "../dns/presentation.ts";
import { formatReverseName } from "../dns/reverse.ts";
import type { ZoneImage } from "./image/image.ts";
import { KEEP_ORDER, SET_HEADER_BYTES } from "./image/layout.ts";
import { fixedDataBytes, read16, read32, setEnd } from "./record-block.ts";
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
 * Every record of an image in one zone and one view; leases are not applied. PTR records
 * come last. `zone` defaults to the canonical one, `view` (a cluster id) to outside.
 * @throws {RangeError} if the image does not have the zone or the view.
 */
export function* listRecords(
  image: ZoneImage,
  { zone, view }: { readonly zone?: string | undefined; readonly view?: string | undefined } = {},
): Generator<ListedRecord> {
  const zoneName = zone ?? image.canonicalZones[0]!.name;
  const listed = image.zones.find(({ name }) => name === zoneName);
  if (listed === undefined) throw new RangeError(`the image has no zone ${zoneName}`);
  const viewIndex = image.viewOf(view);
  if (view !== undefined && viewIndex < 0)
    throw new RangeError(`the image does not know the cluster ${JSON.stringify(view)}`);
  const tree = image.treeFor(listed, viewIndex);
  if (tree < 0) throw new RangeError(`${zoneName} exists only in the views of clusters: name a cluster`);
  const server = `ns.dns.${zoneName}`;
  const { negativeTtl } = image;
  const { refresh, retry, expire } = SOA_TIMERS;
  const timers = `${image.serial} ${refresh} ${retry} ${expire} ${negativeTtl}`;
  yield {
    name: zoneName,
    ttl: negativeTtl,
    type: "SOA",
    rdata: `${server} hostmaster.${zoneName} ${timers}`,
  };
  yield { name: zoneName, ttl: negativeTtl, type: "NS", rdata: server };
  for (let node = 0; node < image.nodes; node++) {
    if (image.treeOf(node) !== tree) continue;
    const list = image.existsIn(node, viewIndex) ? image.setListOf(node, viewIndex) : 0;
    if (list !== 0) yield* listSets(image, list, nodeName(image, node, zoneName), zoneName);
  }
  for (const entry of image.reverseEntries()) {
    const length = image.heap[entry]!;
    const octets = image.heap.subarray(entry + 1, entry + 1 + length);
    const target = image.findReverse(octets, length, viewIndex);
    if (target === 0) continue;
    const node = read32(image.heap, target + 5);
    if (image.treeOf(node) !== tree || !image.existsIn(node, viewIndex)) continue;
    const rdata = nodeName(image, node, image.canonicalZones[tree]!.name);
    yield { name: formatReverseName(octets), ttl: image.ttls[image.heap[target + 2]!]!, type: "PTR", rdata };
  }
}

function* listSets(image: ZoneImage, list: number, name: string, zone: string): Generator<ListedRecord> {
  const { heap } = image;
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--) {
    const type = read16(heap, set);
    const ttl = image.ttls[heap[set + 2]! & ~KEEP_ORDER]!;
    const count = read16(heap, set + 5);
    const fixed = fixedDataBytes(type);
    let at = set + SET_HEADER_BYTES;
    for (let index = 0; index < count; index++) {
      const bytes = fixed === 0 ? 2 + read16(heap, at) : fixed;
      yield {
        name,
        ttl,
        type: TYPE_NAMES.get(type) ?? `TYPE${type}`,
        rdata: formatRdata(image, type, at, bytes, count, zone),
      };
      at += bytes;
    }
    set = setEnd(heap, set);
  }
}

function formatRdata(
  image: ZoneImage,
  type: number,
  at: number,
  bytes: number,
  count: number,
  zone: string,
): string {
  const { heap } = image;
  if (type === RecordType.A || type === RecordType.AAAA) return formatAddress(heap.subarray(at, at + bytes));
  if (type === RecordType.SRV)
    return `0 ${Math.max(1, Math.floor(100 / count))} ${read16(heap, at)} ${nodeName(image, read32(heap, at + 2), zone)}`;
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

function nodeName({ heap, nodeLabel, nodeParent, trees }: ZoneImage, start: number, zone: string): string {
  let relative = "";
  for (let node = start; node >= trees; node = nodeParent[node]!) {
    const at = nodeLabel[node]!;
    const label = Uint8Array.of(...heap.subarray(at, at + 1 + heap[at]!), 0);
    relative += formatName(label);
  }
  return relative + (zone === "." && relative !== "" ? "" : zone);
}

/** A record as a line of a zone file (RFC 1035 section 5). */
export function zoneFileLine({ name, ttl, type, rdata }: ListedRecord): string {
  return `${name}\t${ttl}\tIN\t${type}\t${rdata}`;
}
