import { ExtendedError, ResponseCode } from "../../dns/codes.ts";
import { parseZoneName, startOfZone, type ZoneName } from "../../dns/folded-name.ts";
import type { Answer } from "../../resolve/answer.ts";
import { answerWith } from "../../resolve/faults.ts";
import { withSourceCluster } from "../../resolve/source-cluster.ts";
import { withBoundedTtls } from "../cached-answer.ts";
import { scrubAnswer } from "../scrub/scrub-answer.ts";
import type { Upstream } from "../upstreams/upstream.ts";
import { relayAnswer, type UpstreamAnswer } from "../upstreams/upstream-answer.ts";
import { UpstreamGroup, type UpstreamLimits } from "../upstreams/upstream-group.ts";
import { isAboveFederations, matchFederation, readForwardable } from "./stub-match.ts";

/** A stub zone as it is registered: a federation's name and the name servers that know it. */
export interface StubRegistration {
  readonly name: string;
  readonly nameservers: readonly string[];
}

/** Where registrations are kept. */
export interface StubStore {
  load(): Promise<readonly StubRegistration[]>;
  /** Replaces what is kept; resolves when it is there for good. */
  keep(registrations: readonly StubRegistration[]): Promise<void>;
}

/** Bounds on stub zones. */
export interface StubLimits extends UpstreamLimits {
  /** Federations that may be registered. */
  readonly federations: number;
  /** Queries that wait for a name server at the same time. */
  readonly queriesInFlight: number;
}

/** What stub zones are put together from. */
export interface StubZonesDependencies {
  /** The zones that federations are below, in text. */
  readonly zones: readonly string[];
  /** The gateway's own zones, in text: no name server has a say in their names. */
  readonly ownZones: readonly string[];
  readonly store: StubStore;
  readonly connect: (nameserver: string) => Upstream;
  /** The EDNS option code of the source cluster. */
  readonly optionCode: number;
  /** The cluster that this gateway runs in, for askers without a source cluster. */
  readonly self: string | undefined;
  readonly limits: StubLimits;
  /** Told when a name server stops answering (with the error), and when it answers again. */
  readonly onNameserverChange: (federation: string, nameserver: string, error: Error | undefined) => void;
}

/** How a forwarded query ended: a name server answered, none did in time, or too many were waiting already. */
export type ForwardOutcome = "answered" | "unreachable" | "overloaded";

/** An answer that a name server gave, or a SERVFAIL in its place. */
export interface ForwardedAnswer {
  readonly answer: Answer;
  readonly outcome: ForwardOutcome;
}

/** One more federation than the limit allows. */
export class TooManyFederations extends Error {
  readonly code = "TOO_MANY_FEDERATIONS";
}

/** As of the cache of other names. */
const TTL_BOUNDS = { minimumTtlSeconds: 0, maximumTtlSeconds: 86_400, maximumNegativeTtlSeconds: 3600 };

interface StubZone {
  readonly registration: StubRegistration;
  readonly servers: UpstreamGroup;
  /** Exchanges that run, by the query's octets: the same question is asked once. */
  readonly running: Map<string, Promise<UpstreamAnswer | undefined>>;
}

/**
 * The stub zones (federated service discovery, Initial Setup): queries below a registered federation go to its name
 * servers, with the source cluster in an EDNS(0) option. Nothing is cached.
 */
export class StubZones {
  /** The zones that federations are below, in text. */
  readonly zones: readonly string[];
  readonly #dependencies: StubZonesDependencies;
  readonly #zones: readonly ZoneName[];
  /** These, and the gateway's own. */
  readonly #allZones: readonly ZoneName[];
  readonly #stubs = new Map<string, StubZone>();
  #waiting = 0;
  #lastChange: Promise<unknown> = Promise.resolve();

  private constructor(dependencies: StubZonesDependencies) {
    this.zones = dependencies.zones;
    this.#dependencies = dependencies;
    this.#zones = dependencies.zones.map(parseZoneName);
    this.#allZones = [...this.#zones, ...dependencies.ownZones.map(parseZoneName)];
  }

  /** Takes up what was registered before. @throws what the store throws */
  static async open(dependencies: StubZonesDependencies): Promise<StubZones> {
    const stubs = new StubZones(dependencies);
    for (const registration of await dependencies.store.load())
      stubs.#stubs.set(registration.name, stubs.#connect(registration));
    return stubs;
  }

  /** How many federations are registered. */
  get size(): number {
    return this.#stubs.size;
  }

  /** What is registered, by name. */
  list(): StubRegistration[] {
    return [...this.#stubs.values()]
      .map(({ registration }) => registration)
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  get(name: string): StubRegistration | undefined {
    return this.#stubs.get(name)?.registration;
  }

  /**
   * Registers a federation, in place of what it had. Resolves when that is kept and in force.
   * @returns whether it is new
   * @throws {TooManyFederations} beyond the limit
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

  /** Removes a federation; false where it was not registered. */
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

  /**
   * Sends a query to the name servers of its federation; undefined where no stub zone is for it. The octets of `message` are
   * only lent.
   * @param view the source cluster of the asker, undefined for outside
   */
  forward(message: Uint8Array, view: string | undefined): Promise<ForwardedAnswer> | undefined {
    const query = readForwardable(message);
    const stub = query && matchFederation(this.#zones, this.#stubs, query.name);
    if (query === undefined || stub === undefined) return undefined;
    const own = message.slice();
    const fail = (error: number, outcome: ForwardOutcome): ForwardedAnswer => ({
      answer: answerWith(own, query, ResponseCode.SERVFAIL, "servfail", error),
      outcome,
    });
    if (this.#waiting >= this.#dependencies.limits.queriesInFlight)
      return Promise.resolve(fail(ExtendedError.OTHER, "overloaded"));
    this.#waiting++;
    return this.#ask(stub, own, view)
      .then((answer): ForwardedAnswer => {
        if (answer === undefined) return fail(ExtendedError.NO_REACHABLE_AUTHORITY, "unreachable");
        return { answer: relayAnswer(own, query, answer), outcome: "answered" };
      })
      .finally(() => {
        this.#waiting--;
      });
  }

  /** An answer that denies a name above those of registered federations, as one that says that the name has no such records (RFC 8020 section 2). */
  keepAncestor(message: Uint8Array, answer: Answer): Answer {
    if (answer.outcome !== "nxdomain" || this.size === 0) return answer;
    const query = readForwardable(message);
    if (query === undefined || !isAboveFederations(this.#zones, query.name)) return answer;
    const bytes = answer.bytes.slice();
    bytes[3] = bytes[3]! & 0xf0;
    return { ...answer, bytes, outcome: "nodata" };
  }

  /** Waits for changes that run, then lets go of every connection. */
  async close(): Promise<void> {
    await this.#lastChange.catch(() => {});
    for (const { servers } of this.#stubs.values()) servers.close();
  }

  #ask(stub: StubZone, message: Uint8Array, view: string | undefined): Promise<UpstreamAnswer | undefined> {
    const { optionCode, self } = this.#dependencies;
    const query = withSourceCluster(message, optionCode, view ?? self);
    query[0] = 0;
    query[1] = 0;
    // Of the flags only RD and CD are for the name server.
    query[2] = query[2]! & 0x01;
    query[3] = query[3]! & 0x10;
    const key = String.fromCharCode(...query);
    const running = stub.running.get(key);
    if (running !== undefined) return running;
    const asked = stub.servers
      .ask(query)
      .then((reply) => reply && this.#scrub(stub, reply.answer))
      .finally(() => stub.running.delete(key));
    stub.running.set(key, asked);
    return asked;
  }

  /** What its name servers may say of their own federation, and of names that are nobody's here. They may give private addresses: that is what they are for. */
  #scrub(stub: StubZone, answer: UpstreamAnswer): UpstreamAnswer | undefined {
    const scrubbed = scrubAnswer(answer, {
      isOurs: (name) =>
        this.#allZones.some((zone) => startOfZone(name, zone) >= 0) &&
        !isAboveFederations(this.#zones, name) &&
        matchFederation(this.#zones, this.#stubs, name) !== stub,
      isPrivate: () => false,
      isTrusted: () => false,
    });
    return scrubbed && withBoundedTtls(scrubbed.answer, TTL_BOUNDS);
  }

  #connect(registration: StubRegistration): StubZone {
    const { connect, limits, onNameserverChange } = this.#dependencies;
    const servers = new UpstreamGroup(registration.nameservers.map(connect), limits, {
      onChange: (nameserver, error) => onNameserverChange(registration.name, nameserver, error),
    });
    return { registration, servers, running: new Map() };
  }

  #keep(registrations: readonly StubRegistration[]): Promise<void> {
    return this.#dependencies.store.keep(registrations);
  }

  /** One change after the other, so that what is kept is what is in force. */
  #change<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.catch(() => {}).then(change);
    this.#lastChange = result;
    return result;
  }
}
