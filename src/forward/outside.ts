import { type AddressRange, isInRange, readSocketAddress } from "../dns/address-range.ts";
import { ExtendedError, HeaderFlag, ResponseCode } from "../dns/codes.ts";
import type { Answer } from "../resolve/answer.ts";
import { answerOutOfZone, answerWith } from "../resolve/faults.ts";
import type { Query } from "../resolve/query.ts";
import { continueAlias, queryForTarget } from "./continue-alias.ts";
import type { Forwarder } from "./forwarder.ts";
import { answerHidden, answerLocally } from "./local-answer.ts";
import { isInArpa, type LocalZones } from "./locally-served.ts";
import type { OutsideAnswer } from "./outside-answer.ts";
import { readForwardable } from "./stubs/stub-match.ts";

/** What a name outside every zone gets: REFUSED, NXDOMAIN, or what an upstream says. */
export type OutsidePolicy = "refuse" | "nxdomain" | "forward";

/** What answering names outside the zones is put together from. */
export interface OutsideDependencies {
  /** What the gateway says by itself to such names. */
  readonly given: "refuse" | "nxdomain";
  /** Zones that are never forwarded. */
  readonly localZones: LocalZones;
  /** Undefined where nothing is forwarded. */
  readonly forwarder: Forwarder | undefined;
  /** Clients that may use upstreams, by the addresses of their sockets; undefined for everybody. */
  readonly clients?: readonly AddressRange[] | undefined;
}

/** Answers names that are in none of our zones, by the policy of the path or the listener that they were asked at. */
export class Outside {
  readonly forwarder: Forwarder | undefined;
  readonly #given: "refuse" | "nxdomain";
  readonly #localZones: LocalZones;
  readonly #clients: readonly AddressRange[] | undefined;

  constructor({ given, localZones, forwarder, clients }: OutsideDependencies) {
    this.#given = given;
    this.#localZones = localZones;
    this.forwarder = forwarder;
    this.#clients = clients;
  }

  /** Whether a client's address decides if its queries are forwarded. */
  get isByAddress(): boolean {
    return this.#clients !== undefined;
  }

  /**
   * Answers a query whose name the gateway found beyond its zones, or behind an alias that leads there; at once where nobody has to be
   * asked. Never rejects.
   * @param message the query, whose octets are only lent
   * @param given the gateway's answer, which has `beyond` or `leadsTo`
   * @param client the address of the client's socket, undefined where it is not known
   * @param audience the name of the client's access rule
   */
  answer(
    message: Uint8Array,
    given: Answer,
    policy: OutsidePolicy,
    client: string | undefined,
    audience: string,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    if (given.beyond === undefined)
      return policy === "forward" ? this.#continue(message, given, client, audience) : { answer: given };
    const isKnown = given.beyond !== "unknown";
    if (policy !== "forward" && (policy === this.#given || !isKnown)) return { answer: given };
    const query = readForwardable(message);
    if (query === undefined) return { answer: given };
    const isAncestor = given.isAncestor === true;
    if (policy !== "forward") return { answer: answerOutOfZone(message, query, policy, isAncestor) };
    if (given.beyond === "hidden") return { answer: answerHidden(message, query, isAncestor) };
    return this.#forward(message, query, given, isKnown, client, audience);
  }

  #forward(
    message: Uint8Array,
    query: Query,
    given: Answer,
    isKnown: boolean,
    client: string | undefined,
    audience: string,
    isOwnTarget = false,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    const local = this.#localZones.find(query.name);
    // Without an image nobody can say what our own names and the reverse names of our addresses have.
    if (!isKnown && (local?.kind === "own" || isInArpa(query.name))) return { answer: given };
    const { forwarder } = this;
    if (local !== undefined) {
      forwarder?.counters.count("local");
      return { answer: answerLocally(message, query, local, given.isAncestor === true) };
    }
    // Who does not ask for recursion asks what others have asked for.
    if (forwarder === undefined || (query.flags & HeaderFlag.RD) === 0)
      return { answer: isKnown ? answerOutOfZone(message, query, "refuse", false) : given };
    if (!this.#isAllowed(client)) {
      forwarder.counters.count("prohibited");
      return {
        answer: answerWith(message, query, ResponseCode.REFUSED, "refused", ExtendedError.PROHIBITED),
      };
    }
    return forwarder.answer(message, query, client, audience, isOwnTarget);
  }

  /** An alias of ours is answered together with what it leads to; where that is not to be had, alone. */
  #continue(
    message: Uint8Array,
    given: Answer,
    client: string | undefined,
    audience: string,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    const query = readForwardable(message);
    if (query === undefined || given.leadsTo === undefined) return { answer: given };
    const own = message.slice();
    const target = queryForTarget(own, query, given.leadsTo);
    const alone = { answer: given };
    const join = ({ answer, origin, retryAfter }: OutsideAnswer): OutsideAnswer => {
      if (retryAfter !== undefined || answer.outcome === "refused") return alone;
      const joined = continueAlias(own, query, given, answer);
      if (joined === undefined) return alone;
      return { answer: joined, isContinued: true, ...(origin !== undefined && { origin }) };
    };
    const targetQuery = readForwardable(target);
    // What is ours is behind the alias already, as far as there is anything.
    if (targetQuery === undefined || this.#localZones.find(targetQuery.name)?.kind === "own") return alone;
    const rest = this.#forward(target, targetQuery, given, true, client, audience, true);
    return rest instanceof Promise ? rest.then(join) : join(rest);
  }

  #isAllowed(client: string | undefined): boolean {
    if (this.#clients === undefined) return true;
    const address = client === undefined ? undefined : readSocketAddress(client);
    return address !== undefined && this.#clients.some((range) => isInRange(address, range));
  }
}
