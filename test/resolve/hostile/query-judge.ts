/** How a transport takes bytes that are not a query: by a status of HTTP, silence, or a closed connection. */
export type Verdict = "no-query" | Judgement;

/** What a query must get, by the specifications alone. */
export interface Judgement {
  /** Every rcode that fits the query, extended ones included (RFC 6891 section 6.1.3). */
  readonly rcodes: readonly number[];
  /** The bytes of the question that must come back; none where the query cannot be read (RFC 1035 4.1.1). */
  readonly question: Uint8Array;
  readonly hasOpt: boolean;
  /** The longest answer over UDP (RFC 6891 section 6.2.5). */
  readonly payloadBytes: number;
}

export const Rcode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

const HEADER = 12;
const OPT = 41;
/** AXFR and IXFR (RFC 5936, RFC 1995): no zone is transferred. */
const IXFR = 251;
const TRANSFERS = [IXFR, 252];
/** More records than that behind the question are refused. */
const MOST_RECORDS = 16;
const NOTHING = new Uint8Array(0);

/** Some names below these are served: reverse names, and designated resolvers (RFC 9462). */
const PARTLY_SERVED = ["in-addr.arpa", "ip6.arpa", "resolver.arpa"];

/** Judges a query: slow, by RFC 1035, 6891 and 9619, with no code of the gateway's own. */
export function judge(query: Buffer, zones: readonly string[], designated: string): Verdict {
  if (query.length < HEADER || (query[2]! & 0x80) !== 0) return "no-query";
  const unreadable = (rcode: number): Judgement => ({
    rcodes: [rcode],
    question: NOTHING,
    hasOpt: hasOptSomewhere(query),
    payloadBytes: 512,
  });
  if ((query[2]! & 0x78) !== 0) return unreadable(Rcode.NOTIMP);
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => query.readUInt16BE(at));
  if (questions !== 1 || answers !== 0 || additionals! > MOST_RECORDS) return unreadable(Rcode.FORMERR);
  const name = readName(query, HEADER);
  if (name === undefined || name.end + 4 > query.length) return unreadable(Rcode.FORMERR);
  const questionEnd = name.end + 4;
  const type = query.readUInt16BE(name.end);
  // The SOA record that the client has (RFC 1995 section 3).
  if (authorities! > (type === IXFR ? 1 : 0)) return unreadable(Rcode.FORMERR);
  const opt = readRecords(query, questionEnd, authorities!, additionals!);
  if (opt === undefined) return unreadable(Rcode.FORMERR);

  const queryClass = query.readUInt16BE(name.end + 2);
  const readable = (...rcodes: number[]): Judgement => ({
    rcodes,
    question: query.subarray(HEADER, questionEnd),
    hasOpt: opt !== "none",
    payloadBytes: opt === "none" ? 512 : Math.max(512, opt.payloadBytes),
  });
  if (opt !== "none" && opt.version !== 0) return readable(Rcode.BADVERS);
  if (type === OPT) return unreadable(Rcode.FORMERR);
  if ((queryClass !== 1 && queryClass !== 255) || TRANSFERS.includes(type)) return readable(Rcode.REFUSED);
  if (zones.some((zone) => isBelow(name.text, zone))) return readable(Rcode.NOERROR, Rcode.NXDOMAIN);
  if ([...PARTLY_SERVED, `_dns.${designated}`].some((zone) => isBelow(name.text, zone)))
    return readable(Rcode.NOERROR, Rcode.NXDOMAIN, Rcode.REFUSED);
  return readable(Rcode.REFUSED);
}

/** A name in lower case, with its own dots escaped; undefined where it is malformed or compressed. */
function readName(message: Buffer, start: number): { text: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63 || at + 1 + length > message.length) return undefined;
    // 255 bytes, with the root's.
    if (at + 1 + length - start > (length === 0 ? 255 : 254)) return undefined;
    if (length === 0) return { text: labels.join("."), end: at + 1 };
    const label = message.toString("latin1", at + 1, at + 1 + length);
    // As \DDD (RFC 1035 section 5.1): no text of a label ends or begins another one.
    const escaped = label.replace(/[.\\]/g, (byte) => `\\0${byte.charCodeAt(0)}`);
    labels.push(escaped.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
    at += 1 + length;
  }
}

type Opt = { readonly version: number; readonly payloadBytes: number };

/** Reads the authority and the additional section; undefined where they do not end with the message. */
function readRecords(
  message: Buffer,
  start: number,
  authorities: number,
  additionals: number,
): Opt | "none" | undefined {
  let at = start;
  let opt: Opt | "none" = "none";
  for (let left = authorities + additionals; left > 0; left--) {
    const owner = endOfName(message, at);
    if (owner === undefined || owner + 10 > message.length) return undefined;
    const end = owner + 10 + message.readUInt16BE(owner + 8);
    if (end > message.length) return undefined;
    if (message.readUInt16BE(owner) === OPT) {
      if (
        left > additionals ||
        opt !== "none" ||
        message[at] !== 0 ||
        !hasWholeOptions(message, owner + 10, end)
      )
        return undefined;
      opt = { version: message[owner + 5]!, payloadBytes: message.readUInt16BE(owner + 2) };
    }
    at = end;
  }
  return at === message.length ? opt : undefined;
}

/** Whether a possibly malformed message has an OPT record where its counts say (RFC 6891 section 6.1.1). */
function hasOptSomewhere(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  let at: number = HEADER;
  for (let left = questions!; left > 0; left--) {
    const owner = endOfName(message, at);
    if (owner === undefined) return false;
    at = owner + 4;
  }
  const others = answers! + authorities!;
  for (let index = 0; index < others + additionals!; index++) {
    const owner = endOfName(message, at);
    if (owner === undefined || owner + 10 > message.length) return false;
    const end = owner + 10 + message.readUInt16BE(owner + 8);
    if (end > message.length) return false;
    if (index >= others && message.readUInt16BE(owner) === OPT && message[at] === 0) return true;
    at = end;
  }
  return false;
}

function hasWholeOptions(message: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at + 4 <= end) at += 4 + message.readUInt16BE(at + 2);
  return at === end;
}

/** Where a name ends that may be compressed: pointers lead backwards (RFC 1035 section 4.1.4). */
export function endOfName(message: Buffer, start: number): number | undefined {
  let end: number | undefined;
  let earliest = start;
  let bytes = 0;
  for (let at = start; at < message.length; ) {
    const length = message[at]!;
    if (length >= 0xc0) {
      if (at + 2 > message.length) return undefined;
      const target = message.readUInt16BE(at) & 0x3fff;
      if (target >= earliest || target < HEADER) return undefined;
      end ??= at + 2;
      at = earliest = target;
      continue;
    }
    bytes += 1 + length;
    if (length > 63 || bytes > 255) return undefined;
    if (length === 0) return end ?? at + 1;
    at += 1 + length;
  }
  return undefined;
}

function isBelow(name: string, zone: string): boolean {
  return name === zone || name.endsWith(`.${zone}`);
}
