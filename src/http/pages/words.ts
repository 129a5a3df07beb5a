import { ExtendedError, RecordType, ResponseCode } from "../../dns/codes.ts";

/** A time span: `12 s`, `3 min`, `2 h`, `5 days`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** `1 record`, `2 records`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The name of a response code (IANA DNS Parameters). */
export function nameOfCode(code: number): string {
  return CODE_NAMES.get(code) ?? `RCODE ${code}`;
}

const CODE_NAMES = new Map<number, string>(Object.entries(ResponseCode).map(([name, code]) => [code, name]));

/** A sentence that describes an answer. */
export function describeOutcome(code: number, answers: number, type: string): string {
  switch (code) {
    case ResponseCode.NOERROR:
      return answers > 0
        ? `The name exists: ${counted(answers, "record")}.`
        : `The name exists, but it has no ${type} records (NODATA).`;
    case ResponseCode.NXDOMAIN:
      return "The name does not exist (NXDOMAIN), nor does any name below it.";
    case ResponseCode.REFUSED:
      return "The gateway does not answer this query (REFUSED).";
    case ResponseCode.SERVFAIL:
      return "The gateway cannot answer now (SERVFAIL). Whether the name exists is unknown.";
    case ResponseCode.NOTIMP:
      return "The gateway does not know this kind of query (NOTIMP).";
    case ResponseCode.FORMERR:
      return "The query is malformed (FORMERR).";
    default:
      return `The answer is an error: ${nameOfCode(code)}.`;
  }
}

/** The meaning of an Extended DNS Error (RFC 8914 section 4). */
export function describeExtendedError(code: number): string {
  return EXTENDED_ERRORS.get(code) ?? "see RFC 8914 and IANA's list of Extended DNS Error Codes";
}

const EXTENDED_ERRORS = new Map<number, string>([
  [ExtendedError.OTHER, "another reason, see the text"],
  [ExtendedError.STALE_ANSWER, "stale: a newer answer may exist, but the gateway could not get it"],
  [ExtendedError.NOT_READY, "not ready: no cluster has pushed yet, or every lease has expired"],
  [
    ExtendedError.STALE_NXDOMAIN,
    "a stale negative answer: the name may exist by now, but the gateway could not check",
  ],
  [ExtendedError.NOT_AUTHORITATIVE, "the name is out of the zones of this gateway: query another resolver"],
  [ExtendedError.NOT_SUPPORTED, "the gateway does not support this query"],
  [ExtendedError.NO_REACHABLE_AUTHORITY, "no name server of the name could be reached"],
  [23, "a name server could not be reached"],
]);

/** The flags of an answer's header, each with the meaning of its value. */
export function describeFlags(flags: {
  readonly AA: boolean;
  readonly TC: boolean;
  readonly RD: boolean;
  readonly RA: boolean;
  readonly AD: boolean;
  readonly CD: boolean;
}): readonly (readonly [flag: string, meaning: string])[] {
  return [
    [
      "AA",
      flags.AA
        ? "set: authoritative, from a zone of this gateway"
        : "not set: not from a zone of this gateway",
    ],
    ["TC", flags.TC ? "set: some records did not fit" : "not set: the answer is complete"],
    ["RD", flags.RD ? "set: the query requested recursion" : "not set: the query requested no recursion"],
    ["RA", flags.RA ? "set: the gateway forwards other names" : "not set: the answer needed no recursion"],
    ["AD", flags.AD ? "set: validated by DNSSEC" : "not set: not validated by DNSSEC"],
    ["CD", flags.CD ? "set: the query requested no validation" : "not set"],
  ];
}

/** The name of an RR type; `TYPE<number>` for rare ones (RFC 3597 section 5). */
export function nameOfType(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}

const TYPE_NAMES = new Map<number, string>([
  ...Object.entries(RecordType).map(([name, type]) => [type, name] as const),
  [15, "MX"],
  [257, "CAA"],
]);
