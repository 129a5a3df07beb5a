import { type DecodedPacket, decode, encode, type Packet } from "dns-packet";
import { CachedAnswer } from "../../src/forward/cached-answer.ts";
import {
  readForwardable,
  type StubRegistration,
  StubZones,
  type StubZonesDependencies,
} from "../../src/forward/stub-zones.ts";
import type { Upstream, UpstreamAnswer } from "../../src/forward/upstream.ts";
import { ownCount } from "../../src/limits/counters.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";

/** What a fake name server does with a query. */
export type Handler = (query: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>;

/** An answer to a query: its question and ID, with these fields over them. */
export function answerTo(query: Uint8Array, packet: Packet & { rcode?: number } = {}): Uint8Array {
  const { rcode = 0, ...rest } = packet;
  const { id, questions } = decode(Buffer.from(query));
  const bytes = new Uint8Array(
    encode({ type: "response", id, flags: 0x8580, questions: questions ?? [], ...rest }),
  );
  bytes[3] = bytes[3]! | rcode;
  return bytes;
}

/** One address, as the name server `address` would say it. */
export const addressOf =
  (data: string, ttl = 30): Handler =>
  async (query) =>
    answerTo(query, { answers: [{ type: "A", name: decoded(query).questions![0]!.name, ttl, data }] });

/** A name server whose answers come once they are released. */
export function slow(address: string) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const exchange: Handler = async (query, signal) => {
    await promise;
    return addressOf(address)(query, signal);
  };
  return { exchange, release };
}

/** A name server that never says anything. */
export const silent: Handler = (_, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

/** A name server that refuses connections. */
export const dead: Handler = async () => {
  throw new Error("ECONNREFUSED");
};

/** Stub zones whose name servers are functions, with everything that they were asked. */
export async function openStubs(
  servers: Record<string, Handler>,
  changes: Partial<Omit<StubZonesDependencies, "limits">> & {
    limits?: Partial<StubZonesDependencies["limits"]>;
    kept?: StubRegistration[];
  } = {},
) {
  const { limits, kept = [], ...rest } = changes;
  const asked: { nameserver: string; query: Uint8Array }[] = [];
  const events: string[] = [];
  const closed: string[] = [];
  const stubs = await StubZones.open({
    zones: ["federation", "federation.example.com"],
    ownZones: ["clusterset.local"],
    queries: ownCount("stub"),
    store: {
      load: async () => kept,
      keep: async (registrations) => {
        kept.splice(0, kept.length, ...registrations);
      },
    },
    connect: (nameserver): Upstream => ({
      nameserver,
      exchange: (query, signal) => {
        asked.push({ nameserver, query });
        return servers[nameserver]!(query, signal);
      },
      close: () => closed.push(nameserver),
    }),
    optionCode: 65001,
    self: undefined,
    onNameserverChange: (federation, nameserver, error) =>
      events.push(`${federation} ${nameserver} ${error === undefined ? "answers" : error.message}`),
    ...rest,
    limits: {
      serverMilliseconds: 50,
      totalMilliseconds: 5000,
      federations: 2,
      queriesInFlight: 10,
      ...limits,
    },
  });
  return { stubs, asked, events, closed, kept };
}

/** An answer as a client gets it, with the TTLs of the name server. */
export function relayed(message: Uint8Array, answer: UpstreamAnswer): Answer {
  const bounds = { minimumTtlSeconds: 0, maximumTtlSeconds: 2 ** 31, maximumNegativeTtlSeconds: 2 ** 31 };
  return new CachedAnswer({ answer, upstream: "one" }, bounds, 0).relay(message, readForwardable(message)!);
}

/** A query in wire format. */
export function queryFor(name: string, packet: Packet = {}, type = "A"): Uint8Array {
  return new Uint8Array(
    encode({
      type: "query",
      id: 0xabcd,
      flags: 0x0100,
      questions: [{ type: type as "A", name }],
      ...packet,
    }),
  );
}

/** The same bytes but for one; its position counts from the end if it is negative. */
export function patched(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  return Uint8Array.from(bytes).with(at, byte);
}

/** The OPT record of a query or an answer. */
export function optOf(bytes: Uint8Array) {
  return decode(Buffer.from(bytes)).additionals?.find((record) => record.type === "OPT");
}

/** Decoded, with the rcode that dns-packet's types leave out. */
export function decoded(bytes: Uint8Array): DecodedPacket & { rcode: string } {
  return decode(Buffer.from(bytes)) as DecodedPacket & { rcode: string };
}
