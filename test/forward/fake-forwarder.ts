import type { Packet } from "dns-packet";
import { onTestFinished, vi } from "vitest";
import type { ForwarderDependencies, ForwarderSettings, ScrubSettings } from "../../src/forward/forwarder.ts";
import { Forwarder } from "../../src/forward/forwarder.ts";
import type { OutsideAnswer } from "../../src/forward/local.ts";
import { LocalZones } from "../../src/forward/local.ts";
import { PrivateAddresses, type PrivateAddressSettings } from "../../src/forward/private-addresses.ts";
import { readForwardable } from "../../src/forward/stub-zones.ts";
import type { Upstream } from "../../src/forward/upstream.ts";
import { optRecord } from "../dns/opt-record.ts";
import { FakeClock } from "../gateway/fake-clock.ts";
import { answerTo, type Handler, optOf } from "./fake-upstreams.ts";

/** What may be set differently. */
export interface ForwarderChanges extends Partial<Omit<ForwarderDependencies, "settings" | "upstreams">> {
  readonly limits?: Partial<ForwarderSettings["limits"]>;
  /** Zones of ours, in text. */
  readonly own?: readonly string[];
  readonly privateAddresses?: Partial<PrivateAddressSettings>;
  readonly trustedUpstreams?: readonly string[];
  readonly cache?: Partial<ForwarderSettings["cache"]>;
  readonly clients?: Partial<ForwarderSettings["clients"]>;
}

/** What an upstream was asked, and when. */
export interface Asked {
  readonly upstream: string;
  readonly query: Uint8Array;
  readonly at: number;
}

/** A clock that timers and time follow until the test ends, or another one takes its place. */
export function followedClock(): FakeClock {
  const clock = new FakeClock();
  try {
    onTestFinished(() => {
      vi.unstubAllGlobals();
      spied.mockRestore();
    });
  } catch {
    return clock;
  }
  const { clearTimeout: stop } = globalThis;
  const spied = vi.spyOn(performance, "now").mockImplementation(() => clock.now());
  vi.stubGlobal("setTimeout", (run: () => void, milliseconds = 0) => clock.setTimer(milliseconds, run));
  vi.stubGlobal("clearTimeout", (timer: unknown) =>
    typeof timer === "function" ? timer() : stop(timer as never),
  );
  return clock;
}

/** Upstreams that are functions, with everything that they were asked. */
export function fakeUpstreams(servers: Record<string, Handler>, clock: FakeClock) {
  const asked: Asked[] = [];
  const upstreams = Object.keys(servers).map(
    (nameserver): Upstream => ({
      nameserver,
      exchange: (query, signal) => {
        asked.push({ upstream: nameserver, query, at: clock.now() });
        return servers[nameserver]!(query, signal);
      },
      close: () => {},
    }),
  );
  return { upstreams, asked };
}

/** A forwarder over such upstreams, with a clock that stands still. */
export function fakeForwarder(servers: Record<string, Handler>, changes: ForwarderChanges = {}) {
  const { limits, cache, clients, own = ["clusterset.local"], privateAddresses, ...more } = changes;
  const { trustedUpstreams, ...rest } = more;
  const localZones = new LocalZones({ own, also: [], except: [] });
  const clock = followedClock();
  const { upstreams, asked } = fakeUpstreams(servers, clock);
  const scrubbing: ScrubSettings = {
    isOurs: (name) => localZones.find(name) !== undefined,
    privateAddresses: new PrivateAddresses({ also: [], except: [], names: [], ...privateAddresses }),
    trustedUpstreams: new Set(trustedUpstreams),
  };
  const forwarder = new Forwarder({
    ...rest,
    upstreams,
    scrubbing,
    settings: {
      limits: { serverMilliseconds: 3000, totalMilliseconds: 5000, queriesInFlight: 100, ...limits },
      cache: {
        bytes: 1 << 20,
        minimumTtlSeconds: 0,
        maximumTtlSeconds: 86_400,
        maximumNegativeTtlSeconds: 3600,
        staleSeconds: 86_400,
        ...cache,
      },
      clients: { queriesPerSecond: 0, burst: 1, exempt: [], ...clients },
    },
  });
  const ask = (message: Uint8Array, client = "192.0.2.77", rule = "public") => {
    const query = readForwardable(message);
    if (query === undefined) throw new Error("this is nothing that is forwarded");
    return forwarder.answer(message, query, client, rule);
  };
  const counted = () => Object.fromEntries(forwarder.counters.results);
  return { forwarder, scrubbing, ask, asked, clock, counted };
}

export const withEdns: Packet = { additionals: [optRecord()] };

/** An SOA record for dns-packet. */
export function soaRecord(ttl: number, minimum: number, name = "example.com") {
  const data = { mname: "ns.example.com", rname: "m", serial: 1, refresh: 1, retry: 1, expire: 1, minimum };
  return { type: "SOA", name, ttl, data } as const;
}

/** A signature over records of a name. */
export function rrsigRecord(name: string, typeCovered: string, signersName = "example.com") {
  const validity = { originalTTL: 30, expiration: 2, inception: 1 };
  const signature = { algorithm: 13, labels: 2, keyTag: 1, signersName, signature: Buffer.alloc(8) };
  return { type: "RRSIG", name, ttl: 30, data: { typeCovered, ...validity, ...signature } } as const;
}

/** Says the same to every query. */
export const says =
  (packet: Packet & { rcode?: number }): Handler =>
  async (query) =>
    answerTo(query, packet);

/** Says something each time. */
export const saysInTurn = (...exchanges: Handler[]): Handler => {
  let turn = 0;
  return (query, signal) => exchanges[Math.min(turn++, exchanges.length - 1)]!(query, signal);
};

/** Fails the test where something had to be waited for. */
export function atOnce(answer: OutsideAnswer | Promise<OutsideAnswer>): OutsideAnswer {
  if (answer instanceof Promise) throw new Error("this had to be waited for");
  return answer;
}

/** The info codes of the Extended DNS Errors in an answer. */
export function extendedErrors(
  options: readonly { readonly code: unknown; readonly data?: unknown }[] = [],
): number[] {
  return options
    .filter(({ code }) => Number(code) === 15)
    .map(({ data }) => ((data as Uint8Array)[0]! << 8) | (data as Uint8Array)[1]!);
}

/** The same of a whole message. */
export const errorsIn = (bytes: Uint8Array) => extendedErrors(optOf(bytes)?.options);
