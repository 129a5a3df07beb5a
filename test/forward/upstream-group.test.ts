import { describe, expect, it } from "vitest";
import { ForwardCounters } from "../../src/forward/counters.ts";
import { UpstreamGroup, type UpstreamLimits } from "../../src/forward/upstream-group.ts";
import { optRecord } from "../dns/opt-record.ts";
import { settle } from "../gateway/fake-clock.ts";
import { fakeUpstreams, followedClock, says } from "./fake-forwarder.ts";
import {
  addressOf,
  answerTo,
  dead,
  decoded,
  type Handler,
  queryFor,
  silent,
  slow,
} from "./fake-upstreams.ts";

/** A record of more than 512 bytes. */
const TEXT = { type: "TXT", name: "www.example.com", ttl: 60, data: Array(3).fill("x".repeat(255)) } as const;
const QUERY = queryFor("www.example.com", { id: 0 });

function group(servers: Record<string, Handler>, limits: Partial<UpstreamLimits> = {}) {
  const clock = followedClock();
  const { upstreams, asked } = fakeUpstreams(servers, clock);
  const events: string[] = [];
  const counters = new ForwardCounters();
  const onChange = (upstream: string, error: Error | undefined) =>
    void events.push(`${upstream} ${error === undefined ? "answers" : error.message}`);
  const settings = { serverMilliseconds: 3000, totalMilliseconds: 5000, hedgeMilliseconds: 300, ...limits };
  const asking = new UpstreamGroup(upstreams, settings, onChange, counters);
  const order = () => asked.map(({ upstream }) => upstream);
  return { asking, asked, order, clock, events, hedges: () => counters.hedges };
}

describe("hedging", () => {
  it("queries the next one if the first is slow, and the first answer wins", async () => {
    const { asking, order, clock, hedges } = group({ silent, good: addressOf("192.0.2.2") });
    const asked = asking.ask(QUERY);
    await clock.advance(299);
    expect(order()).toEqual(["silent"]);
    await clock.advance(1);
    expect(await asked).toMatchObject({ upstream: "good" });
    expect([order(), hedges()]).toEqual([["silent", "good"], 1]);
  });

  it("does not where the first is fast, where it is switched off, and no third one", async () => {
    const fast = group({ good: addressOf("192.0.2.1"), other: addressOf("192.0.2.2") });
    await fast.asking.ask(QUERY);
    await fast.clock.advance(1000);
    expect([fast.order(), fast.hedges()]).toEqual([["good"], 0]);

    const off = group({ silent, good: addressOf("192.0.2.2") }, { hedgeMilliseconds: 0 });
    void off.asking.ask(QUERY);
    await off.clock.advance(2999);
    expect(off.order()).toEqual(["silent"]);

    const three = group({ one: silent, two: silent, three: addressOf("192.0.2.3") });
    void three.asking.ask(QUERY);
    await three.clock.advance(2999);
    expect(three.order()).toEqual(["one", "two"]);
  });

  it("uses the answer of the first one if it comes first after all", async () => {
    const first = slow("192.0.2.1");
    const { asking, clock } = group({ first: first.exchange, second: silent });
    const asked = asking.ask(QUERY);
    await clock.advance(400);
    first.release();
    expect(await asked).toMatchObject({ upstream: "first" });
  });

  it("shows by the loser's own time that it does not answer", async () => {
    const { asking, clock, events } = group({ silent, good: addressOf("192.0.2.2") });
    const asked = asking.ask(QUERY);
    await clock.advance(300);
    await asked;
    expect(events).toEqual([]);
    await clock.advance(2700);
    expect(events).toEqual(["silent there was no answer within 3000 ms"]);
  });

  it("does not double the load of an upstream that is always slow: 10,000 questions are 2,080 hedges", async () => {
    const { asking, clock, hedges } = group(
      { slow: silent, other: silent },
      { serverMilliseconds: 60_000, totalMilliseconds: 60_000 },
    );
    for (let round = 0; round < 100; round++) {
      for (let count = 0; count < 100; count++) void asking.ask(QUERY);
      await clock.advance(300);
    }
    expect(hedges()).toBe(2080);
  });
});

describe("upstreams that fail", () => {
  it("lead to the next one at once, are used last from then on, and probed beside the others", async () => {
    const servers: Record<string, Handler> = { one: dead, two: addressOf("192.0.2.2") };
    const { asking, asked, order, clock, events } = group(servers);
    const ask = async () => {
      asked.splice(0);
      const reply = await asking.ask(QUERY);
      await settle();
      return [reply?.upstream, order()];
    };
    expect(await ask()).toEqual(["two", ["one", "two"]]);
    expect(asking.states().map(({ isSetAside }) => isSetAside)).toEqual([true, false]);
    expect(await ask()).toEqual(["two", ["two"]]);
    await clock.advance(1000);
    expect(await ask()).toEqual(["two", ["two", "one"]]);
    await clock.advance(1999);
    expect(await ask()).toEqual(["two", ["two"]]);
    await clock.advance(1);
    expect(await ask()).toEqual(["two", ["two", "one"]]);
    servers.one = addressOf("192.0.2.1");
    await clock.advance(4000);
    expect(await ask()).toEqual(["two", ["two", "one"]]);
    expect(await ask()).toEqual(["one", ["one"]]);
    expect(events).toEqual(["one ECONNREFUSED", "one answers"]);
  });

  it("are probed at least every minute, however long they have failed", async () => {
    const { asking, asked, clock } = group({ one: dead, two: addressOf("192.0.2.2") });
    for (let seconds = 0; seconds < 600; seconds++) {
      await asking.ask(QUERY);
      await clock.advance(1000);
    }
    const probes = asked.filter(({ upstream }) => upstream === "one").map(({ at }) => at);
    const pauses = probes.slice(1).map((at, index) => (at - probes[index]!) / 1000);
    expect(pauses.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 32]);
    expect(new Set(pauses.slice(6))).toEqual(new Set([60]));
  });

  it("are not set aside for one name that takes too long while they answer others", async () => {
    const servers: Record<string, Handler> = { one: silent, two: addressOf("192.0.2.2") };
    const { asking, clock, events } = group(servers);
    const slowName = asking.ask(QUERY);
    await clock.advance(1000);
    servers.one = addressOf("192.0.2.1");
    expect(await asking.ask(QUERY)).toMatchObject({ upstream: "one" });
    await clock.advance(2000);
    expect(await slowName).toMatchObject({ upstream: "two" });
    expect(events).toEqual([]);
    expect(await asking.ask(QUERY)).toMatchObject({ upstream: "one" });
  });

  it("are all used when all have failed, the one that failed longest ago first", async () => {
    const servers: Record<string, Handler> = { one: dead, two: dead };
    const { asking, order, clock } = group(servers);
    expect(await asking.ask(QUERY)).toBeUndefined();
    await clock.advance(100);
    servers.two = addressOf("192.0.2.2");
    expect(await asking.ask(QUERY)).toMatchObject({ upstream: "two" });
    expect(order()).toEqual(["one", "two", "one", "two"]);
  });

  it("cannot take longer together than the bound for all, and those cut off have not failed", async () => {
    const { asking, clock, events } = group({ one: silent, two: silent, three: silent });
    let reply: unknown = "none yet";
    void asking.ask(QUERY).then((given) => {
      reply = given;
    });
    await clock.advance(4999);
    expect(reply).toBe("none yet");
    await clock.advance(1);
    await settle();
    expect(reply).toBeUndefined();
    expect(events).toEqual(["one", "two"].map((name) => `${name} there was no answer within 3000 ms`));
    expect(clock.timers).toBe(0);
  });
});

describe("answers that do not say what a name has", () => {
  const other = addressOf("192.0.2.2");
  const withError = (code: number) => ({
    additionals: [optRecord([{ code: 15, data: Buffer.from([0, code]) }])],
  });
  it.each<[string, Handler, string]>([
    ["SERVFAIL", says({ rcode: 2 }), "two"],
    ["REFUSED", says({ rcode: 5 }), "two"],
    ["REFUSED, Prohibited: about us (RFC 8914 section 4.19)", says({ rcode: 5, ...withError(18) }), "two"],
    ["SERVFAIL, DNSSEC Bogus (RFC 8914 section 4.7)", says({ rcode: 2, ...withError(6) }), "one"],
    ["REFUSED, Blocked (RFC 8914 section 4.16)", says({ rcode: 5, ...withError(15) }), "one"],
    ["NXDOMAIN", says({ rcode: 3 }), "one"],
    ["an answer of too many bytes", async (query) => answerTo(query, { answers: [TEXT] }), "two"],
  ])("%s: %3$s answers", async (_, exchange, expected) => {
    const { asking, events } = group({ one: exchange, two: other }, { answerBytes: 512 });
    expect(await asking.ask(QUERY)).toMatchObject({ upstream: expected });
    expect(events).toEqual([]);
  });

  it("count where nobody says more: the first of them", async () => {
    const { asking } = group({ one: says({ rcode: 5 }), two: says({ rcode: 2 }), three: dead });
    const reply = await asking.ask(QUERY);
    expect(reply?.upstream).toBe("one");
    expect(decoded(reply!.answer.bytes).rcode).toBe("REFUSED");
  });
});
