import { usableAddress } from "../dns/address.ts";
import {
  type FoldedName,
  HEADER_BYTES,
  labelStart,
  nameKey,
  parseName,
  parseZoneName,
  RecordType,
  ResponseCode,
  startOfZone,
} from "../dns/name.ts";
import { beginAnswer, type MessageWriter } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { type Answer, outcomeOf } from "../resolve/record-writer.ts";
import { answerOutOfZone } from "../resolve/resolve.ts";
import { withRecursion } from "./cached-answer.ts";

/** The origin of an answer. */
export interface AnswerOrigin {
  /** The upstream's name; undefined if none answered. */
  readonly upstream: string | undefined;
  /** Its age in the cache in whole seconds. */
  readonly ageSeconds: number;
  readonly isStale: boolean;
}

/** The answer to a query for a name out of zone. */
export interface OutsideAnswer {
  readonly answer: Answer;
  /** Undefined if no upstream was needed. */
  readonly origin?: AnswerOrigin;
  /** Whether it starts with one of the gateway's CNAME records; then `origin` is that of the target. */
  readonly isContinued?: boolean;
  /** Set if the client exceeded its limit: seconds until it may retry; `answer` is REFUSED. */
  readonly retryAfter?: number;
}

// The SOA record that a locally served zone should have (RFC 6303 section 3): the zone's own name, this
// mailbox, these numbers.
const NOBODY = parseName("nobody.invalid");
const SERIAL = 1;
const REFRESH = 3600;
const RETRY = 1200;
const EXPIRE = 604_800;
const MINIMUM = 10_800;
/**
 * For how many seconds a name is denied: zones of clusters, such as `cluster.local`, and reverse names come
 * and go there.
 */
const DENIED_SECONDS = 5;
const POINTER_BYTES = 2;

const LOOPBACK: ReadonlyMap<number, Uint8Array> = new Map([
  [RecordType.A, Uint8Array.of(127, 0, 0, 1)],
  [RecordType.AAAA, Uint8Array.from({ length: 16 }, (_, index) => (index === 15 ? 1 : 0))],
]);

/**
 * Answers a name that is never forwarded.
 * @param isAncestor whether names below it have answers, so that it exists
 */
export function answerLocally(
  message: Uint8Array,
  query: Query,
  { kind, start }: LocalZone,
  isAncestor: boolean,
): Answer {
  if (kind === "own") {
    const answer = answerOutOfZone(message, query, "nxdomain", isAncestor);
    return { ...answer, bytes: withRecursion(answer.bytes) };
  }
  const address = kind === "loopback" ? LOOPBACK.get(query.type) : undefined;
  const writer = beginAnswer(message, query);
  if (address !== undefined) {
    writer.writeRecordHeader(HEADER_BYTES, query.type, MINIMUM, address.length);
    writer.writeBytes(address, 0, address.length);
    writer.answers = 1;
    return finish(writer, ResponseCode.NOERROR, MINIMUM);
  }
  const isApexSoa = start === 0 && query.type === RecordType.SOA;
  const ttl = isApexSoa || kind === "loopback" ? MINIMUM : DENIED_SECONDS;
  writeSoa(writer, HEADER_BYTES + start, ttl);
  if (isApexSoa) writer.answers = 1;
  else writer.authorities = 1;
  // The zone itself exists, and so does every name below localhost.
  const exists = kind === "loopback" || start === 0 || isAncestor;
  return finish(writer, exists ? ResponseCode.NOERROR : ResponseCode.NXDOMAIN, ttl);
}

function finish(writer: MessageWriter, rcode: number, freshness: number): Answer {
  const bytes = withRecursion(writer.finish(rcode, true));
  return { bytes, outcome: outcomeOf(rcode, writer.answers), freshness };
}

function writeSoa(writer: MessageWriter, apexAt: number, ttl: number): void {
  writer.writeRecordHeader(apexAt, RecordType.SOA, ttl, POINTER_BYTES + NOBODY.length + 20);
  writer.write16(0xc000 | apexAt);
  writer.writeBytes(NOBODY, 0, NOBODY.length);
  for (const value of [SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM]) writer.write32(value);
}

/** How the gateway itself answers names at and below a zone: with loopback addresses, or with NXDOMAIN. */
type LocalKind = "loopback" | "nxdomain" | "own";

/** The zone of a name that is never forwarded. */
interface LocalZone {
  readonly kind: LocalKind;
  /** The offset of the zone's name in that name. */
  readonly start: number;
}

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/**
 * Names that have a meaning only inside a host or a network, and whose queries would reveal facts about it:
 * the special-use names that resolvers answer themselves, and the locally served zones of the IANA registry,
 * without `localhost`. They get NXDOMAIN.
 */
const LOCALLY_SERVED: readonly string[] = [
  // RFC 6761 sections 6.2 and 6.4, RFC 6762 section 22.1, RFC 7686 section 2, RFC 8375 section 4, RFC 9476
  // section 2, RFC 9462 section 6.4, RFC 9665 section 9.1
  ..."test invalid local onion home.arpa alt resolver.arpa service.arpa".split(" "),
  // RFC 6303 section 4.1 and 4.2, RFC 7793
  ...["10", "168.192", "0", "127", "254.169", "2.0.192", "100.51.198", "113.0.203", "255.255.255.255"]
    .concat(range(16, 31).map((byte) => `${byte}.172`))
    .concat(range(64, 127).map((byte) => `${byte}.100`))
    .map((prefix) => `${prefix}.in-addr.arpa`),
  // RFC 6303 sections 4.3 to 4.6
  ...[
    "0.".repeat(32),
    `1.${"0.".repeat(31)}`,
    "d.f.",
    "8.e.f.",
    "9.e.f.",
    "a.e.f.",
    "b.e.f.",
    "8.b.d.0.1.0.0.2.",
  ].map((prefix) => `${prefix}ip6.arpa`),
];

/** Locally served zones in addition to those of the standards. */
interface LocalZoneSettings {
  /** The gateway's own zones, as text. */
  readonly own: readonly string[];
  /** More zones whose names get NXDOMAIN, as text. */
  readonly also: readonly string[];
  /** Zones, or names in them, that are forwarded nevertheless. */
  readonly except: readonly string[];
}

const ARPA = parseZoneName("arpa");

/** Zones by the wire form of their names, with letters folded. */
export class LocalZones {
  readonly #kinds = new Map<string, LocalKind | "forwarded">();

  /** @throws {NameError} if a zone is not a name */
  constructor({ own, also, except }: LocalZoneSettings) {
    // RFC 6761 section 6.3
    this.#kinds.set(keyOf("localhost"), "loopback");
    for (const zone of [...LOCALLY_SERVED, ...also]) this.#kinds.set(keyOf(zone), "nxdomain");
    for (const zone of except) this.#kinds.set(keyOf(zone), "forwarded");
    for (const zone of own) this.#kinds.set(keyOf(zone), "own");
  }

  /** The closest enclosing zone of a name; undefined if the name may be forwarded. */
  find(name: FoldedName): LocalZone | undefined {
    const whole = nameKey(name);
    for (let label = 0; label < name.labels; label++) {
      const start = labelStart(name, label);
      const kind = this.#kinds.get(whole.slice(start));
      if (kind === "forwarded") return undefined;
      if (kind !== undefined) return { kind, start };
    }
    return undefined;
  }
}

/** Whether a name is below `arpa`, the domain of reverse names. */
export function isInArpa(name: FoldedName): boolean {
  return startOfZone(name, ARPA) >= 0;
}

function keyOf(zone: string): string {
  return String.fromCharCode(...parseZoneName(zone).wire);
}

/**
 * The location of a name server: an address for plain DNS (RFC 1035), or the URL of a DNS resource (RFC
 * 8484).
 */
export type Nameserver =
  | { readonly kind: "plain"; readonly address: string; readonly port: number }
  | { readonly kind: "https"; readonly url: URL };

const DNS_PORT = 53;
const MOST_CHARACTERS = 512;

/**
 * Reads a name server: an IP address, `IPv4:port`, `[IPv6]:port`, or an `https://` URL without user, password
 * and fragment. Undefined for everything else.
 */
export function parseNameserver(text: string): Nameserver | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  if (/^https:\/\//i.test(text)) return parseUrl(text);
  const withPort = /^(?:\[([^\]]*:[^\]]*)\]|([0-9.]+)):([1-9]\d{0,4})$/.exec(text);
  const address = withPort === null ? text : (withPort[1] ?? withPort[2]!);
  const port = withPort === null ? DNS_PORT : Number(withPort[3]);
  if (port > 65535 || usableAddress(address) === undefined) return undefined;
  return { kind: "plain", address, port };
}

function parseUrl(text: string): Nameserver | undefined {
  // The URI template of RFC 8484 section 4.1; queries use POST, which does not need it.
  const plain = text.replace(/\{\?dns\}$/, "");
  if (!URL.canParse(plain) || /[{}\s#]/.test(plain)) return undefined;
  const url = new URL(plain);
  return url.username === "" && url.password === "" ? { kind: "https", url } : undefined;
}
