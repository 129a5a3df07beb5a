export type { Missing } from "../zone/world.ts";

import { RecordType, ResponseCode } from "../dns/name.ts";
import type { Leased, World } from "../zone/world.ts";
import type { MessageWriter } from "./message-writer.ts";
import type { Query } from "./query.ts";
import { writeSoa } from "./zone-records.ts";

/** The outcomes of queries, for metrics and logs. */
export const OUTCOMES = [
  "answer",
  "nodata",
  "nxdomain",
  "refused",
  "formerr",
  "notimp",
  "badvers",
  "servfail",
] as const;

/** The outcome of a query. */
export type Outcome = (typeof OUTCOMES)[number];

/** An answer in wire format. */
export interface Answer {
  /** The DNS message; the caller owns it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly outcome: Outcome;
  /** RFC 8484 section 5.1: the smallest TTL, or the negative TTL (RFC 2308); 0 if caches must not keep the answer. Seconds. */
  readonly freshness: number;
  /** Present if the name is out of zone. */
  readonly outOfZone?: OutOfZoneReason;
  /**
   * Present if such a name is an ancestor of names in the zones: it exists, and must not be denied (RFC 8020 section 2).
   */
  readonly isAncestor?: true;
  /** The target of the last CNAME record if it is out of zone, in wire form with letters folded; absent otherwise. */
  readonly cnameTarget?: Uint8Array;
}

/**
 * Why a name is out of zone: it is in no zone; it is in a zone that exists only in other views, so upstreams must not see it;
 * or nothing is loaded, so the zones are unknown.
 */
type OutOfZoneReason = "no-zone" | "hidden" | "unknown";

/** When leases expire. */
export interface Leases {
  /** For each lease group of a segment, the Unix milliseconds at which the first lease of its clusters expires; Infinity for none. */
  of(segment: Leased): Float64Array;
}

// HINFO "RFC8482" "" (RFC 8482 section 4.2): the answer to ANY that resolvers understand.
const MINIMAL_ANY = Uint8Array.from([7, 82, 70, 67, 56, 52, 56, 50, 0]);

/** Answers type ANY at a name with records. It never follows a CNAME chain, so it always has room. */
export function minimalAny(writer: MessageWriter, query: Query, world: World, owner: number): Answer {
  writer.writeRecordHeader(owner, RecordType.HINFO, world.frame.negativeTtl, MINIMAL_ANY.length);
  writer.writeBytes(MINIMAL_ANY, 0, MINIMAL_ANY.length);
  writer.answers++;
  writer.smallestTtl = Math.min(writer.smallestTtl, world.frame.negativeTtl);
  return positive(writer, query);
}

/** Ends an answer with records. */
export function positive(writer: MessageWriter, query: Query): Answer {
  writer.writeOpt(query, ResponseCode.NOERROR, -1);
  const bytes = writer.finish(query, ResponseCode.NOERROR, true);
  return { bytes, outcome: "answer", freshness: writer.truncated ? 0 : writer.smallestTtl };
}

/** Ends with NODATA or NXDOMAIN after the CNAME chain, with the SOA record that has the negative TTL (RFC 2308). */
export function negative(
  writer: MessageWriter,
  query: Query,
  world: World,
  apexAt: number,
  rcode: number,
): Answer {
  writeSoa(writer, world, apexAt);
  return finishNegative(writer, query, world, rcode);
}

/** Ends a negative answer; its SOA record is written if it fits. */
export function finishNegative(writer: MessageWriter, query: Query, world: World, rcode: number): Answer {
  writer.authorities = writer.truncated ? 0 : 1;
  writer.writeOpt(query, rcode, -1);
  const outcome: Outcome = rcode === ResponseCode.NXDOMAIN ? "nxdomain" : "nodata";
  const freshness = writer.truncated ? 0 : Math.min(writer.smallestTtl, world.frame.negativeTtl);
  return { bytes: writer.finish(query, rcode, true), outcome, freshness };
}
