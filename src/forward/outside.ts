import { type AddressRange, isInRange, readSocketAddress } from "../dns/address.ts";
import {
  ExtendedError,
  type FoldedName,
  HEADER_BYTES,
  HeaderFlag,
  labelText,
  RecordType,
  ResponseCode,
  readName,
  readRecord,
  readWord,
} from "../dns/name.ts";
import { beginAnswer, type Transport } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import type { Answer } from "../resolve/record-writer.ts";
import { answerOutOfZone, answerWith } from "../resolve/resolve.ts";
import { withRecursion } from "./cached-answer.ts";
import type { Forwarder } from "./forwarder.ts";
import { answerLocally, isInArpa, type LocalZones, type OutsideAnswer } from "./local.ts";
import { copyRecord } from "./records.ts";
import { readForwardable } from "./stub-zones.ts";
import { readExtendedError } from "./upstream.ts";

/** The answer to a name out of zone: REFUSED, NXDOMAIN, or an upstream's answer. */
export type OutsidePolicy = "refuse" | "nxdomain" | "forward";

/** The parts that answer names out of zone. */
export interface OutsideDependencies {
  /** The gateway's own answer to such names. */
  readonly given: "refuse" | "nxdomain";
  /** Zones that are never forwarded. */
  readonly localZones: LocalZones;
  /** Undefined if nothing is forwarded. */
  readonly forwarder: Forwarder | undefined;
  /** Addresses of clients that may use upstreams; undefined for all. */
  readonly clients?: readonly AddressRange[] | undefined;
}

/** Answers names out of zone by the policy of the path or the listener. */
export class Outside {
  readonly forwarder: Forwarder | undefined;
  readonly #parts: OutsideDependencies;

  constructor(parts: OutsideDependencies) {
    this.#parts = parts;
    this.forwarder = parts.forwarder;
  }

  /** Whether a client's address decides if its queries are forwarded. */
  get isByAddress(): boolean {
    return this.#parts.clients !== undefined;
  }

  /**
   * Answers a query whose name, or whose CNAME target, is out of zone. Without a promise unless an upstream
   * is needed. Never rejects.
   * @param message the query; the caller may reuse its bytes after the call
   * @param given the gateway's answer, with `outOfZone` or `cnameTarget`
   * @param client the client's address, undefined if it is unknown
   * @param rule the name of the client's access rule @param transport of the query. Default: HTTPS
   */
  answer(
    message: Uint8Array,
    given: Answer,
    policy: OutsidePolicy,
    client: string | undefined,
    rule: string,
    transport?: Transport,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    if (given.outOfZone === undefined)
      return policy === "forward"
        ? this.#continue(message, given, client, rule, transport)
        : { answer: given };
    const isKnown = given.outOfZone !== "unknown";
    if (policy !== "forward" && (policy === this.#parts.given || !isKnown)) return { answer: given };
    const query = readForwardable(message, transport);
    if (query === undefined) return { answer: given };
    const isAncestor = given.isAncestor === true;
    if (policy !== "forward") return { answer: answerOutOfZone(message, query, policy, isAncestor) };
    return this.#forward(message, query, given, isKnown, client, rule);
  }

  #forward(
    message: Uint8Array,
    query: Query,
    given: Answer,
    isKnown: boolean,
    client: string | undefined,
    rule: string,
    isOwnTarget = false,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    const local = this.#parts.localZones.find(query.name);
    // Without a generation the gateway does not know its own names, nor the zones of clusters, nor the
    // reverse names of its addresses.
    if (!isKnown && (mayBeOwn(query.name, local) || isInArpa(query.name))) return { answer: given };
    const { forwarder } = this;
    if (local !== undefined) {
      forwarder?.counters.results.hit("local");
      return { answer: answerLocally(message, query, local, given.isAncestor === true) };
    }
    // A query without RD would reveal what is in the cache.
    if (forwarder === undefined || (query.flags & HeaderFlag.RD) === 0)
      return { answer: isKnown ? answerOutOfZone(message, query, "refuse", false) : given };
    if (!this.#isAllowed(client)) {
      forwarder.counters.results.hit("prohibited");
      return { answer: answerWith(message, query, ResponseCode.REFUSED, ExtendedError.PROHIBITED) };
    }
    return forwarder.answer(message, query, client, rule, isOwnTarget);
  }

  /**
   * Answers one of the gateway's CNAME records together with its target; the record alone if there is no
   * answer for the target.
   */
  #continue(
    message: Uint8Array,
    given: Answer,
    client: string | undefined,
    rule: string,
    transport?: Transport,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    const query = readForwardable(message, transport);
    if (query === undefined || given.cnameTarget === undefined) return { answer: given };
    const own = message.slice();
    const target = queryForTarget(own, query, given.cnameTarget);
    const alone = { answer: given };
    // Other clients get the target's records as well: no cache may have this answer for them.
    const withheld = { answer: { ...given, freshness: 0 } };
    const join = ({ answer, origin, retryAfter }: OutsideAnswer): OutsideAnswer => {
      if (retryAfter !== undefined || answer.outcome === "refused") return withheld;
      const joined = appendTarget(own, query, given, answer);
      if (joined === undefined) return alone;
      return { answer: joined, isContinued: true, ...(origin !== undefined && { origin }) };
    };
    const targetQuery = readForwardable(target, transport);
    // Targets in the gateway's own zones are in the answer already, if they exist.
    if (targetQuery === undefined || this.#parts.localZones.find(targetQuery.name)?.kind === "own")
      return alone;
    const rest = this.#forward(target, targetQuery, given, true, client, rule, true);
    return rest instanceof Promise ? rest.then(join) : join(rest);
  }

  #isAllowed(client: string | undefined): boolean {
    const { clients } = this.#parts;
    if (clients === undefined) return true;
    const address = client === undefined ? undefined : readSocketAddress(client);
    return address !== undefined && clients.some((range) => isInRange(address, range));
  }
}

/** A client's query with another name: the target of a CNAME record, in wire form. */
export function queryForTarget(message: Uint8Array, query: Query, target: Uint8Array): Uint8Array {
  const opt = message.subarray(query.questionEnd);
  const targetQuery = new Uint8Array(HEADER_BYTES + target.length + 4 + opt.length);
  targetQuery.set(message.subarray(0, HEADER_BYTES));
  targetQuery.set(target, HEADER_BYTES);
  targetQuery.set(message.subarray(query.questionEnd - 4), HEADER_BYTES + target.length);
  return targetQuery;
}

/**
 * Appends the answer for a CNAME target to the CNAME record (RFC 1034 section 5.3.3), with the response code
 * of the last name (RFC 6604 section 3). Undefined if the records cannot be copied.
 * @param message the client's query, which `given` answers up to the CNAME record
 * @param rest the answer for the target
 */
export function appendTarget(
  message: Uint8Array,
  query: Query,
  given: Answer,
  rest: Answer,
): Answer | undefined {
  const writer = beginAnswer(message, query);
  const ours = recordsEnd(given.bytes, query.questionEnd, readWord(given.bytes, 6));
  writer.writeBytes(given.bytes, query.questionEnd, ours);
  writer.answers = readWord(given.bytes, 6);
  const { bytes } = rest;
  writer.truncated = (readWord(bytes, 2) & HeaderFlag.TC) !== 0;
  let position = readName(bytes, HEADER_BYTES) + 4;
  const answers = readWord(bytes, 6);
  const authorities = readWord(bytes, 8);
  const owners = new Map<string, number>();
  for (let index = 0; index < answers + authorities; index++) {
    const record = readRecord(bytes, position);
    if (record === undefined || !copyRecord(writer, bytes, record, owners)) return undefined;
    position = record.end;
    if (index < answers) writer.answers++;
    else writer.authorities++;
  }
  const rcode = readWord(bytes, 2) & 0x0f;
  const error = extendedErrorOf(bytes, position);
  // Without another one it may be that the gateway's own record is stale.
  const answer = withRecursion(
    writer.finish(rcode, true, error < 0 ? extendedErrorOf(given.bytes, ours) : error),
  );
  return {
    bytes: answer,
    outcome: rest.outcome === "nodata" ? "answer" : rest.outcome,
    freshness: Math.min(given.freshness, rest.freshness),
  };
}

function recordsEnd(bytes: Uint8Array, start: number, count: number): number {
  let position = start;
  for (let left = count; left > 0; left--) position = readRecord(bytes, position)!.end;
  return position;
}

/** The info code of the Extended DNS Error in the OPT record at `start`, or -1. */
function extendedErrorOf(bytes: Uint8Array, start: number): number {
  const opt = readRecord(bytes, start);
  return opt?.type === RecordType.OPT ? readExtendedError(bytes, opt) : -1;
}

/**
 * Whether a name is in a zone of the gateway, or has the form of a service's or a pod's in the zone of a
 * cluster (DNS-based service discovery 1.1.0, section 2).
 */
function mayBeOwn(name: FoldedName, local: ReturnType<LocalZones["find"]>): boolean {
  if (local?.kind !== "nxdomain") return local?.kind === "own";
  const labels = Array.from({ length: name.labels }, (_, index) => labelText(name, index));
  return labels.includes("svc") || labels.includes("pod");
}
