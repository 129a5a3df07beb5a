import { formatAddress, usableAddress } from "../dns/address.ts";
import type { DesiredSlice } from "../snapshot/desired/desired-line.ts";
import { isLabelValue, isQualifiedName } from "../snapshot/desired/qualified-name.ts";
import type { Endpoint } from "../snapshot/schema.ts";
import { sha256Of } from "../snapshot/sha256.ts";
import type { SlicePort } from "./ports.ts";

/** A slice with its name within service and source cluster. */
export interface NamedSlice {
  readonly name: string;
  readonly desired: DesiredSlice;
}

/** Endpoints of a slice at most. */
export const MOST_ENDPOINTS = 100;
/** Bits of a hash in the name of a slice at most: enough for millions of endpoints. More in one place are told apart by their order. */
const MOST_BITS = 16;

interface Placed {
  readonly endpoint: Endpoint;
  /** Address and host name: one endpoint of a slice. */
  readonly key: string;
  readonly hash: number;
}

/**
 * Endpoints of one exporter with the same ports, in slices. Which slice an endpoint is in follows from its address and host name: a slice with too many is
 * split by the next bit of their hash. So a changed endpoint changes one slice, and equal endpoints give equal slices in whatever order they came.
 * Addresses that no EndpointSlice may hold are left out.
 */
export function sliceEndpoints(ports: readonly SlicePort[], endpoints: Iterable<Endpoint>): NamedSlice[] {
  const byKey = { IPv4: new Map<string, Placed>(), IPv6: new Map<string, Placed>() };
  for (const given of endpoints) {
    const bytes = usableAddress(given.address);
    if (bytes === undefined || isSpecial(bytes)) continue;
    const endpoint = plain(given, formatAddress(bytes));
    const placed = byKey[bytes.length === 4 ? "IPv4" : "IPv6"];
    const key = `${endpoint.address}#${endpoint.hostname ?? ""}`;
    const before = placed.get(key);
    placed.set(key, {
      ...{ key, hash: before?.hash ?? hashOf(key) },
      endpoint: before === undefined ? endpoint : unite(before.endpoint, endpoint),
    });
  }
  const portsHash = hexOf(sha256Of(asciiOf(JSON.stringify(ports))));
  return (["IPv4", "IPv6"] as const).flatMap((addressType) => {
    const sorted = [...byKey[addressType].values()].sort((one, other) => (one.key < other.key ? -1 : 1));
    const name = `${addressType === "IPv4" ? "v4" : "v6"}-${portsHash}`;
    return [...split(sorted, name)].map(([slice, members]) => ({
      name: slice,
      desired: {
        ...{ addressType, ports: [...ports] },
        endpoints: members.map(({ endpoint }) => endpoint),
      },
    }));
  });
}

function* split(
  sorted: readonly Placed[],
  name: string,
  bits = "",
): Generator<readonly [name: string, members: readonly Placed[]]> {
  if (sorted.length === 0) return;
  const own = bits === "" ? name : `${name}-${bits}`;
  if (sorted.length <= MOST_ENDPOINTS) yield [own, sorted];
  else if (bits.length < MOST_BITS)
    for (const bit of [0, 1])
      yield* split(
        sorted.filter(({ hash }) => ((hash >>> (31 - bits.length)) & 1) === bit),
        name,
        `${bits}${bit}`,
      );
  else
    for (let from = 0; from < sorted.length; from += MOST_ENDPOINTS)
      yield [`${own}-${from / MOST_ENDPOINTS}`, sorted.slice(from, from + MOST_ENDPOINTS)];
}

const HOST_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** An endpoint with the members that differ from the defaults, without a host name that an API server rejects. */
function plain({ hostname, ready, serving, terminating, zone }: Endpoint, address: string): Endpoint {
  return {
    address,
    ...(hostname !== undefined && HOST_LABEL.test(hostname) ? { hostname } : {}),
    ...(ready === false ? { ready } : {}),
    ...(serving === false ? { serving } : {}),
    ...(terminating === true ? { terminating } : {}),
    ...(zone ? { zone } : {}),
  };
}

/** While a pod moves between slices both have it: it is ready if it is ready in one of them. */
function unite(one: Endpoint, other: Endpoint): Endpoint {
  const zone = [one.zone, other.zone].filter((text) => text !== undefined).sort()[0];
  return plain(
    {
      ...one,
      ready: one.ready !== false || other.ready !== false,
      serving: one.serving !== false || other.serving !== false,
      terminating: one.terminating === true && other.terminating === true,
      zone,
    },
    one.address,
  );
}

/** API servers reject slices with loopback, link-local and multicast addresses (discovery.k8s.io/v1, validation). */
function isSpecial(bytes: Uint8Array): boolean {
  const [first = 0, second = 0] = bytes;
  if (bytes.length === 4)
    return first === 127 || (first === 169 && second === 254) || (first >= 224 && first < 240);
  const isLoopback = bytes[15] === 1 && bytes.subarray(0, 15).every((byte) => byte === 0);
  return isLoopback || first === 0xff || (first === 0xfe && (second & 0xc0) === 0x80);
}

/** 32 bits of a text, the first ones as even as the last ones: FNV-1a, then the last step of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** 40 bits. */
function hexOf(digest: Uint8Array): string {
  return Array.from(digest.subarray(0, 5), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of a text of ASCII, which usable ports are. */
function asciiOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Bytes of all annotations of an object that an API server takes; a fourth of it is left to others. */
const MOST_ANNOTATION_BYTES = 192 * 1024;

/** What tells controllers and the dataplane how to treat an object: exports must not set it. */
const RESERVED =
  /^(?:(?:multicluster\.|endpointslice\.)?kubernetes\.io|multicluster\.x-k8s\.io|clusterset-doh\.dev)\/|^app\.kubernetes\.io\/managed-by$/;

type Pairs = Readonly<Record<string, string>>;

/** The exported labels that an API server takes as labels of a ServiceImport, without those that controllers go by. */
export function importLabels(labels: Pairs): Record<string, string> {
  return pick(labels, isLabelValue);
}

/** The exported annotations that an API server takes, the first by key up to its bound. */
export function importAnnotations(annotations: Pairs): Record<string, string> {
  let bytes = 0;
  return pick(annotations, (value, key) => {
    // UTF-8 takes at most three bytes for a UTF-16 code unit.
    bytes += 3 * (key.length + value.length);
    return bytes <= MOST_ANNOTATION_BYTES;
  });
}

function pick(pairs: Pairs, fits: (value: string, key: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const key of Object.keys(pairs).sort())
    if (isAllowedKey(key) && fits(pairs[key]!, key)) picked[key] = pairs[key]!;
  return picked;
}

function isAllowedKey(key: string): boolean {
  return isQualifiedName(key) && !RESERVED.test(key);
}
