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

/** What a response code is called (IANA DNS Parameters). */
export function nameOfCode(code: number): string {
  return CODE_NAMES.get(code) ?? `RCODE ${code}`;
}

const CODE_NAMES = new Map<number, string>(Object.entries(ResponseCode).map(([name, code]) => [code, name]));

/** What an answer says, in a sentence. */
export function describeOutcome(code: number, answers: number, type: string): string {
  switch (code) {
    case ResponseCode.NOERROR:
      return answers > 0
        ? `The name exists: ${counted(answers, "record")}.`
        : `The name exists, but it has no ${type} records (NODATA).`;
    case ResponseCode.NXDOMAIN:
      return "There is no such name (NXDOMAIN). Nothing is below it either.";
    case ResponseCode.REFUSED:
      return "The gateway does not answer this question (REFUSED).";
    case ResponseCode.SERVFAIL:
      return "The gateway cannot answer now (SERVFAIL). This says nothing of the name.";
    case ResponseCode.NOTIMP:
      return "The gateway does not know this kind of query (NOTIMP).";
    case ResponseCode.FORMERR:
      return "The query is malformed (FORMERR).";
    default:
      return `The answer is an error: ${nameOfCode(code)}.`;
  }
}

/** What an Extended DNS Error means here (RFC 8914 section 4). */
export function describeExtendedError(code: number): string {
  return EXTENDED_ERRORS.get(code) ?? "see RFC 8914 and IANA's list of Extended DNS Error Codes";
}

const EXTENDED_ERRORS = new Map<number, string>([
  [ExtendedError.OTHER, "another reason, in the text beside it"],
  [ExtendedError.STALE_ANSWER, "stale: something newer may exist, but it could not be had"],
  [
    ExtendedError.NOT_READY,
    "not ready: no cluster has pushed yet, or the lease of every cluster has run out",
  ],
  [
    ExtendedError.STALE_NXDOMAIN,
    "a stale denial: the name may exist by now, but that could not be found out",
  ],
  [ExtendedError.NOT_AUTHORITATIVE, "the name is outside the zones of this gateway: ask another resolver"],
  [ExtendedError.NOT_SUPPORTED, "the gateway does not support what was asked"],
  [ExtendedError.NO_REACHABLE_AUTHORITY, "no name server that knows the name could be reached"],
  [23, "a name server could not be reached"],
]);

/** The flags of an answer's header, each with what it means as it stands. */
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
    ["TC", flags.TC ? "set: records were left out, there were too many" : "not set: nothing was left out"],
    [
      "RD",
      flags.RD ? "set: the query wished for recursion" : "not set: the query did not wish for recursion",
    ],
    [
      "RA",
      flags.RA ? "set: the gateway asks others for other names" : "not set: this answer took no recursion",
    ],
    ["AD", flags.AD ? "set: validated by DNSSEC" : "not set: not validated by DNSSEC"],
    ["CD", flags.CD ? "set: the query wished for no validation" : "not set"],
  ];
}

/** What an RR type is called; `TYPE<number>` for those that are rare here (RFC 3597 section 5). */
export function nameOfType(type: number): string {
  return TYPE_NAMES.get(type) ?? `TYPE${type}`;
}

const TYPE_NAMES = new Map<number, string>([
  ...Object.entries(RecordType).map(([name, type]) => [type, name] as const),
  [15, "MX"],
  [64, "SVCB"],
  [65, "HTTPS"],
  [257, "CAA"],
]);
