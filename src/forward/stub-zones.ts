import {
  ExtendedError,
  type FoldedName,
  isAboveZone,
  labelText,
  parseZoneName,
  RecordType,
  ResponseCode,
  startOfZone,
  type ZoneName,
} from "../dns/name.ts";
import type { Count } from "../limits/counters.ts";
import { HTTPS, type Transport } from "../resolve/message-writer.ts";
import { isAnsweredClass, isQuery, type Query, readQuery, withSourceCluster } from "../resolve/query.ts";
import type { Answer } from "../resolve/record-writer.ts";
import { answerWith } from "../resolve/resolve.ts";
import { CachedAnswer } from "./cached-answer.ts";
import { scrubAnswer } from "./scrub.ts";
import { ExchangePlaces, SharedExchanges } from "./shared-exchanges.ts";
import type { Upstream } from "./upstream.ts";
import { UpstreamGroup, type UpstreamLimits, type UpstreamReply } from "./upstream-group.ts";

/** A registered stub zone: a federation's name and its name servers. */
export interface StubRegistration {
  readonly name: string;
  readonly nameservers: readonly string[];
}

/** The storage of registrations. */
export interface StubStore {
  load(): Promise<readonly StubRegistration[]>;
  /** Replaces the stored registrations; resolves when they are durable. */
  keep(registrations: readonly StubRegistration[]): Promise<void>;
}

/** Limits on stub zones. */
interface StubLimits extends UpstreamLimits {
  /** The most registered federations. */
  readonly federations: number;
  /** The most pending queries. */
  readonly queriesInFlight: number;
}

/** The parts of stub zones. */
export interface StubZonesDependencies {
  /** The zones of federations, as text. */
  readonly zones: readonly string[];
  /** The gateway's own zones, as text: name servers have no authority over their names. */
  readonly ownZones: readonly string[];
  readonly store: StubStore;
  readonly connect: (nameserver: string) => Upstream;
  /** The EDNS option code of the source cluster. */
  readonly optionCode: number;
  /** The cluster that this gateway runs in, for queries without a source cluster. */
  readonly self: string | undefined;
  readonly limits: StubLimits;
  /** The pending queries of all threads. */
  readonly queries: Count;
  /** Called when a name server stops answering (with the error), and when it answers again. */
  readonly onNameserverChange: (federation: string, nameserver: string, error: Error | undefined) => void;
}

/**
 * The outcome of a forwarded query: a name server answered, none did in time, or too many queries were
 * pending.
 */
export type ForwardOutcome = "answered" | "unreachable" | "overloaded";

/** An answer of a name server, or a SERVFAIL instead. */
export interface ForwardedAnswer {
  readonly answer: Answer;
  readonly outcome: ForwardOutcome;
}

/** One more federation than the limit allows. */
export class TooManyFederations extends Error {
  readonly code = "TOO_MANY_FEDERATIONS";
}

/** TTL bounds, the same as for other forwarded names. */
const TTL_BOUNDS = { minimumTtlSeconds: 0, maximumTtlSeconds: 86_400, maximumNegativeTtlSeconds: 3600 };

interface StubZone {
  readonly registration: StubRegistration;
  readonly servers: UpstreamGroup;
  readonly exchanges: SharedExchanges<CachedAnswer | undefined>;
}

/**
 * The stub zones (federated service discovery, Initial Setup): queries below a registered federation go to
 * its name servers, with the source cluster in an EDNS(0) option. Nothing is cached.
 */
export class StubZones {
  /** The zones of federations, as text. */
  readonly zones: readonly string[];
  readonly #dependencies: StubZonesDependencies;
  readonly #zones: readonly ZoneName[];
  /** The zones of federations and the gateway's own. */
  readonly #allZones: readonly ZoneName[];
  readonly #stubs = new Map<string, StubZone>();
  readonly #places: ExchangePlaces;
  #lastChange: Promise<unknown> = Promise.resolve();

  private constructor(dependencies: StubZonesDependencies) {
    this.zones = dependencies.zones;
    this.#dependencies = dependencies;
    this.#places = new ExchangePlaces(dependencies.limits.queriesInFlight, dependencies.queries);
    this.#zones = dependencies.zones.map(parseZoneName);
    this.#allZones = [...this.#zones, ...dependencies.ownZones.map(parseZoneName)];
  }

  /** Loads the stored registrations. @throws the errors of the store */
  static async open(dependencies: StubZonesDependencies): Promise<StubZones> {
    const stubs = new StubZones(dependencies);
    for (const registration of await dependencies.store.load())
      stubs.#stubs.set(registration.name, stubs.#connect(registration));
    return stubs;
  }

  /** The number of registered federations. */
  get size(): number {
    return this.#stubs.size;
  }

  /** The registrations by name. */
  list(): StubRegistration[] {
    return [...this.#stubs.values()]
      .map(({ registration }) => registration)
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  get(name: string): StubRegistration | undefined {
    return this.#stubs.get(name)?.registration;
  }

  /**
   * Registers a federation and replaces its old registration. Resolves when that is durable and in force.
   * @returns whether it is new
   * @throws {TooManyFederations} above the limit
   */
  register(registration: StubRegistration): Promise<boolean> {
    return this.#change(async () => {
      const { name } = registration;
      const before = this.#stubs.get(name);
      const { federations } = this.#dependencies.limits;
      if (before === undefined && this.#stubs.size >= federations)
        throw new TooManyFederations(`${federations} federations are registered already: remove one first`);
      await this.#keep([...this.list().filter((one) => one.name !== name), registration]);
      this.#stubs.set(name, this.#connect(registration));
      before?.servers.close();
      return before === undefined;
    });
  }

  /** Removes a federation; false if it was not registered. */
  remove(name: string): Promise<boolean> {
    return this.#change(async () => {
      const before = this.#stubs.get(name);
      if (before === undefined) return false;
      await this.#keep(this.list().filter((one) => one.name !== name));
      this.#stubs.delete(name);
      before.servers.close();
      return true;
    });
  }

  /** Puts registrations that another thread has stored into force, in place of those here. */
  replaceAll(registrations: readonly StubRegistration[]): void {
    const before = new Map(this.#stubs);
    this.#stubs.clear();
    for (const registration of registrations) {
      const { name } = registration;
      const known = before.get(name);
      const isSame = JSON.stringify(known?.registration) === JSON.stringify(registration);
      this.#stubs.set(name, isSame ? known! : this.#connect(registration));
      if (isSame) before.delete(name);
    }
    for (const { servers } of before.values()) servers.close();
  }

  /**
   * Sends a query to the name servers of its federation; undefined if no stub zone matches. The caller may
   * reuse the bytes of `message` after the call.
   * @param view the source cluster of the query, undefined for outside @param transport of the query.
   * Default: HTTPS
   */
  forward(
    message: Uint8Array,
    view: string | undefined,
    transport?: Transport,
  ): Promise<ForwardedAnswer> | undefined {
    const query = readForwardable(message, transport);
    const stub = query && matchFederation(this.#zones, this.#stubs, query.name);
    if (query === undefined || stub === undefined) return undefined;
    const own = message.slice();
    const fail = (error: number, outcome: ForwardOutcome): ForwardedAnswer => ({
      answer: answerWith(own, query, ResponseCode.SERVFAIL, error),
      outcome,
    });
    const sent = this.#queryFor(own, view);
    const key = String.fromCharCode(...sent);
    const exchange = stub.exchanges.joinOrStart(key, (signal) => this.#ask(stub, sent, signal));
    if (exchange === undefined) return Promise.resolve(fail(ExtendedError.OTHER, "overloaded"));
    return exchange.answer.then((answer): ForwardedAnswer => {
      if (exchange.signal.aborted) return fail(ExtendedError.OTHER, "overloaded");
      if (answer === undefined) return fail(ExtendedError.NO_REACHABLE_AUTHORITY, "unreachable");
      return { answer: answer.relay(own, query), outcome: "answered" };
    });
  }

  /** Changes NXDOMAIN for an ancestor of registered federations to NODATA (RFC 8020 section 2). */
  keepAncestor(message: Uint8Array, answer: Answer): Answer {
    if (answer.outcome !== "nxdomain" || this.size === 0) return answer;
    const query = readForwardable(message);
    if (query === undefined || !isAboveFederations(this.#zones, query.name)) return answer;
    const bytes = answer.bytes.slice();
    bytes[3] = bytes[3]! & 0xf0;
    return { ...answer, bytes, outcome: "nodata" };
  }

  /** Waits for changes in progress, then closes every connection. */
  async close(): Promise<void> {
    await this.#lastChange.catch(() => {});
    for (const { servers } of this.#stubs.values()) servers.close();
  }

  /** The query to a name server, with ID 0. */
  #queryFor(message: Uint8Array, view: string | undefined): Uint8Array {
    const { optionCode, self } = this.#dependencies;
    const query = withSourceCluster(message, optionCode, view ?? self);
    query[0] = 0;
    query[1] = 0;
    // Of the flags only RD and CD are for the name server.
    query[2] = query[2]! & 0x01;
    query[3] = query[3]! & 0x10;
    return query;
  }

  async #ask(stub: StubZone, query: Uint8Array, signal: AbortSignal): Promise<CachedAnswer | undefined> {
    const reply = await stub.servers.ask(query, signal);
    return reply && this.#scrub(stub, reply);
  }

  /**
   * The rules for the answers of a federation's name servers: names of their federation and names out of
   * zone, also with private addresses.
   */
  #scrub(stub: StubZone, { answer, upstream }: UpstreamReply): CachedAnswer | undefined {
    const scrubbed = scrubAnswer(answer, {
      isOurs: (name) =>
        this.#allZones.some((zone) => startOfZone(name, zone) >= 0) &&
        !isAboveFederations(this.#zones, name) &&
        matchFederation(this.#zones, this.#stubs, name) !== stub,
      isPrivate: () => false,
      isTrusted: () => false,
    });
    return scrubbed && new CachedAnswer({ answer: scrubbed.answer, upstream }, TTL_BOUNDS, 0);
  }

  #connect(registration: StubRegistration): StubZone {
    const { connect, limits, onNameserverChange } = this.#dependencies;
    const servers = new UpstreamGroup(registration.nameservers.map(connect), limits, (nameserver, error) =>
      onNameserverChange(registration.name, nameserver, error),
    );
    return { registration, servers, exchanges: new SharedExchanges(this.#places) };
  }

  #keep(registrations: readonly StubRegistration[]): Promise<void> {
    return this.#dependencies.store.keep(registrations);
  }

  /** Runs changes one after the other, so that the stored registrations are those in force. */
  #change<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.catch(() => {}).then(change);
    this.#lastChange = result;
    return result;
  }
}

/** The most labels between `svc` and the zone: a region, and a topology zone in it. */
const MOST_PLACE_LABELS = 2;

/**
 * Reads a query that may be forwarded. Undefined for malformed queries, other EDNS versions, other classes
 * and zone transfers, which the gateway itself rejects. An answer is padded only over an encrypted transport
 * (RFC 7830 section 6).
 */
export function readForwardable(message: Uint8Array, transport: Transport = HTTPS): Query | undefined {
  const read = isQuery(message) ? readQuery(message) : undefined;
  if (read === undefined || "code" in read) return undefined;
  const { edns } = read;
  const query = { ...read, edns: edns && { ...edns, padding: edns.padding && transport.isEncrypted } };
  if (query.edns !== undefined && query.edns.version !== 0) return undefined;
  if (!isAnsweredClass(query.class)) return undefined;
  const { type } = query;
  return type === RecordType.OPT || type === RecordType.AXFR || type === RecordType.IXFR ? undefined : query;
}

/**
 * The registration of a name's federation. The name is at or below `<federation>.svc.<zone>`,
 * `<federation>.svc.<region>.<zone>` or `<federation>.svc.<topology zone>.<region>.<zone>`.
 */
function matchFederation<Registered>(
  zones: readonly ZoneName[],
  registered: ReadonlyMap<string, Registered>,
  name: FoldedName,
): Registered | undefined {
  for (const zone of zones) {
    const last = name.labels - zone.labels - 1;
    if (last < 1 || startOfZone(name, zone) < 0) continue;
    for (let svc = last; svc >= Math.max(1, last - MOST_PLACE_LABELS); svc--) {
      if (labelText(name, svc) !== "svc") continue;
      const found = registered.get(labelText(name, svc - 1));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Whether a name can be an ancestor of a federation's names: it is above a zone of federations, or between
 * that zone and a federation, where any region and topology zone may be.
 */
function isAboveFederations(zones: readonly ZoneName[], name: FoldedName): boolean {
  return zones.some((zone) => {
    if (isAboveZone(name, zone)) return true;
    const before = name.labels - zone.labels;
    if (before > MOST_PLACE_LABELS + 1 || startOfZone(name, zone) < 0) return false;
    return before <= MOST_PLACE_LABELS || labelText(name, 0) === "svc";
  });
}
