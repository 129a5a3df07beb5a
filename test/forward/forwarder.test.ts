import { describe, expect, it } from "vitest";
import type { OutsideAnswer } from "../../src/forward/local.ts";
import { settle } from "../gateway/fake-clock.ts";
import {
  atOnce,
  errorsIn,
  type ForwarderChanges,
  fakeForwarder,
  says,
  saysInTurn,
  soaRecord,
  withEdns,
} from "./fake-forwarder.ts";
import { addressOf, dead, decoded, type Handler, queryFor, silent, slow } from "./fake-upstreams.ts";

const NAME = "www.example.com";
const QUERY = queryFor(NAME, withEdns);
const HOUR = 3_600_000;
const CLIENT = "192.0.2.77";
const HOURLY = addressOf("192.0.2.1", 3600);
const never: Handler = () => new Promise(() => {});

const addresses = ({ answer }: OutsideAnswer) =>
  decoded(answer.bytes).answers?.map((record) => "data" in record && record.data);
const ttls = ({ answer }: OutsideAnswer) =>
  decoded(answer.bytes).answers?.map((record) => "ttl" in record && record.ttl);
const errors = ({ answer }: OutsideAnswer) => errorsIn(answer.bytes);

describe("the cache", () => {
  it("answers at once until the TTL expires, then queries the upstream again", async () => {
    const { ask, asked, clock, counted } = fakeForwarder({
      one: saysInTurn(addressOf("192.0.2.1"), addressOf("192.0.2.2")),
    });
    const first = await ask(QUERY);
    expect([addresses(first), ttls(first)]).toEqual([["192.0.2.1"], [30]]);
    expect(first.origin).toEqual({ upstream: "one", ageSeconds: 0, isStale: false });
    await clock.advance(29_999);
    const hit = atOnce(ask(QUERY));
    expect([addresses(hit), ttls(hit)]).toEqual([["192.0.2.1"], [1]]);
    expect(hit.origin).toEqual({ upstream: "one", ageSeconds: 29, isStale: false });
    await clock.advance(1);
    expect(addresses(await ask(QUERY))).toEqual(["192.0.2.2"]);
    expect([asked.length, counted()]).toEqual([2, { miss: 2, hit: 1 }]);
  });

  it("does not cache an answer with TTL 0, but returns it to all waiting clients", async () => {
    const { ask, asked } = fakeForwarder({ one: addressOf("192.0.2.1", 0) });
    const both = await Promise.all([ask(QUERY), ask(QUERY)]);
    expect(both.map(addresses)).toEqual([["192.0.2.1"], ["192.0.2.1"]]);
    expect(asked).toHaveLength(1);
    await ask(QUERY);
    expect(asked).toHaveLength(2);
  });
  it("keeps a failure for 5 seconds (RFC 9520 section 3.2)", async () => {
    const { ask, asked, clock } = fakeForwarder({ one: dead });
    const failed = await ask(QUERY);
    expect([failed.answer.outcome, errors(failed)]).toEqual(["servfail", [23]]);
    expect(failed.origin?.upstream).toBeUndefined();
    await clock.advance(4999);
    atOnce(ask(QUERY));
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await ask(QUERY);
    expect(asked).toHaveLength(2);
  });

  it("has a bound in bytes: the least recently used answer goes first", async () => {
    const { ask, forwarder } = fakeForwarder({ one: HOURLY }, { cache: { bytes: 5000 } });
    const query = (index: number) => queryFor(`name-${index}.example.com`);
    await ask(query(0));
    const { bytes } = forwarder.cached;
    for (let index = 1; index < 100; index++) {
      await ask(query(index));
      atOnce(ask(query(0)));
    }
    expect(forwarder.cached.bytes).toBeLessThanOrEqual(5000);
    expect(forwarder.cached.answers).toBeGreaterThanOrEqual(Math.floor(5000 / (bytes + 10)));
    expect(ask(query(1))).toBeInstanceOf(Promise);
  });
});

describe("an answer of an upstream", () => {
  const PRIVATE = says({ answers: [{ type: "A", name: NAME, ttl: 300, data: "10.0.0.1" }] });

  it("with a private address is Blocked (RFC 8914 section 4.16), for 5 seconds, and counted", async () => {
    const { ask, asked, clock, forwarder } = fakeForwarder({ one: PRIVATE });
    const first = await ask(QUERY);
    expect([addresses(first), errors(first)]).toEqual([[], [15]]);
    expect(first.answer).toMatchObject({ outcome: "nodata", freshness: 0 });
    await clock.advance(4999);
    expect(errors(atOnce(ask(QUERY)))).toEqual([15]);
    await clock.advance(1);
    await ask(QUERY);
    expect(asked).toHaveLength(2);
    expect([...forwarder.counters.droppedRecords].filter(([, count]) => count > 0)).toEqual([
      ["private-address", 2],
    ]);
  });

  it("with a private address is passed on if that upstream, or the name, may have one", async () => {
    for (const changes of [{ trustedUpstreams: ["one"] }, { privateAddresses: { names: ["example.com"] } }])
      expect(addresses(await fakeForwarder({ one: PRIVATE }, changes).ask(QUERY))).toEqual(["10.0.0.1"]);
    const { ask } = fakeForwarder({ one: PRIVATE }, { trustedUpstreams: ["two"] });
    expect(addresses(await ask(QUERY))).toEqual([]);
  });
});

describe("the clients of two access rules", () => {
  it("do not learn of each other's questions: not by age, TTL, errors or time", async () => {
    const { ask, asked, clock } = fakeForwarder({ one: addressOf("192.0.2.1", 300) });
    await ask(QUERY, CLIENT, "laptops");
    await clock.advance(12_000);
    const first = await ask(QUERY, CLIENT, "phones");
    expect(asked).toHaveLength(2);
    expect(first.origin).toMatchObject({ ageSeconds: 0, isStale: false });
    expect(decoded(first.answer.bytes).answers).toMatchObject([{ ttl: 300 }]);
    expect(atOnce(ask(QUERY, CLIENT, "laptops")).origin).toMatchObject({ ageSeconds: 12 });
  });

  it("do not wait for each other's queries", async () => {
    const { ask, asked } = fakeForwarder({ one: addressOf("192.0.2.1") });
    await Promise.all(["laptops", "phones", "phones"].map((rule) => ask(QUERY, CLIENT, rule)));
    expect(asked).toHaveLength(2);
  });

  it("have equal shares of the cache: one that fills its own takes nothing from another", async () => {
    const { ask, forwarder } = fakeForwarder({ one: HOURLY }, { cache: { bytes: 10_000, rules: 2 } });
    await ask(QUERY, CLIENT, "laptops");
    const { bytes } = forwarder.cached;
    for (let index = 0; index < 50; index++)
      await ask(queryFor(`name-${index}.example.com`), CLIENT, "phones");
    atOnce(ask(QUERY, CLIENT, "laptops"));
    expect(forwarder.cached.bytes).toBeLessThanOrEqual(5000 + bytes);
    expect(ask(queryFor("name-0.example.com"), CLIENT, "phones")).toBeInstanceOf(Promise);
  });
});

describe("queries that wait", () => {
  it("for the same question wait for one exchange, each with its own ID and spelling", async () => {
    const { exchange, release } = slow("192.0.2.1");
    const { ask, asked, counted } = fakeForwarder({ one: exchange });
    const message = queryFor("WWW.example.com", { id: 1 });
    const waiting = [ask(message), ask(queryFor("www.EXAMPLE.com", { id: 2, ...withEdns }))];
    // The bytes of a query are only lent.
    message.fill(0xff);
    release();
    const packets = (await Promise.all(waiting)).map(({ answer }) => decoded(answer.bytes));
    const answers = [{ data: "192.0.2.1" }];
    expect(packets).toMatchObject([
      { id: 1, questions: [{ name: "WWW.example.com" }], answers, additionals: [] },
      { id: 2, questions: [{ name: "www.EXAMPLE.com" }], answers, additionals: [{}] },
    ]);
    expect([asked.length, counted()]).toEqual([1, { miss: 1, coalesced: 1 }]);
  });

  it("count against their client's rate also where they wait for one exchange", async () => {
    const { ask } = fakeForwarder({ one: never }, { clients: { queriesPerSecond: 1, burst: 2 } });
    for (let count = 0; count < 2; count++) expect(ask(QUERY)).toBeInstanceOf(Promise);
    expect(atOnce(ask(QUERY)).answer.outcome).toBe("refused");
  });

  it("have exchanges of their own on a host whose requests cannot wait for each other", async () => {
    const { ask, asked } = fakeForwarder({ one: addressOf("192.0.2.1") }, { coalesce: false });
    await Promise.all([ask(QUERY), ask(QUERY)]);
    expect(asked).toHaveLength(2);
  });

  const numbered = (index: number) => queryFor(`name-${index}.example.com`, withEdns);

  it("are bounded: SERVFAIL with Extended DNS Error 0 for a newer one, until the oldest has waited 0.2 s and gets it", async () => {
    const { ask, clock, counted, asked } = fakeForwarder({ one: never }, { limits: { queriesInFlight: 2 } });
    const oldest = [ask(numbered(1)), ask(numbered(1))];
    const younger = ask(numbered(2));
    const refused = atOnce(ask(numbered(3)));
    expect(refused.answer.outcome).toBe("servfail");
    expect([errors(refused), refused.retryAfter]).toEqual([[0], undefined]);
    await clock.advance(200);
    expect(ask(numbered(3))).toBeInstanceOf(Promise);
    expect((await Promise.all(oldest)).map(({ answer }) => answer.outcome)).toEqual(["servfail", "servfail"]);
    expect(counted()).toEqual({ overloaded: 3 });
    // It is no failure of that name: nothing is kept.
    expect(ask(numbered(1))).toBeInstanceOf(Promise);
    expect((await younger).answer.outcome).toBe("servfail");
    expect(asked).toHaveLength(4);
  });

  it("for the same question take one place, and do not end their own exchange at the bound", async () => {
    const { exchange, release } = slow("192.0.2.1");
    const { ask, clock, counted } = fakeForwarder({ one: exchange }, { limits: { queriesInFlight: 2 } });
    const first = ask(numbered(1));
    await clock.advance(300);
    const copy = ask(numbered(1));
    const other = ask(numbered(2));
    release();
    expect((await Promise.all([first, copy, other])).map(addresses)).toEqual(Array(3).fill(["192.0.2.1"]));
    expect(counted()).toEqual({ miss: 2, coalesced: 1 });
  });

  it("for the same question are bounded as well: SERVFAIL for those above it, which other names do not notice", async () => {
    const most = 3;
    const { ask, counted } = fakeForwarder({ one: never }, { limits: { queriesInFlight: most } });
    for (let count = 0; count <= most; count++) expect(ask(numbered(1))).toBeInstanceOf(Promise);
    for (let count = 0; count < 1000; count++)
      expect(atOnce(ask(numbered(1))).answer.outcome).toBe("servfail");
    expect([ask(numbered(2)), ask(numbered(2)), ask(numbered(3))]).toEqual(
      Array(3).fill(expect.any(Promise)),
    );
    expect(counted()).toEqual({ overloaded: 1000 });
  });

  it("of a client above its rate take no place from others", async () => {
    const { ask, clock } = fakeForwarder(
      { one: never },
      { limits: { queriesInFlight: 1 }, clients: { queriesPerSecond: 1, burst: 1 } },
    );
    const first = ask(QUERY, "192.0.2.1");
    await clock.advance(900);
    expect(atOnce(ask(queryFor("other.example.com"), "192.0.2.1")).retryAfter).toBe(1);
    expect(await Promise.race([first, Promise.resolve("waits")])).toBe("waits");
  });
});

describe("an error while an answer is read", () => {
  /** Its answers cannot be read from `fail` on. */
  const failing = (changes: ForwarderChanges = {}) => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const fake = fakeForwarder({ one: addressOf("192.0.2.1") }, { onError, ...changes });
    const isPrivate = () => {
      throw new Error("cannot be read");
    };
    const fail = () => Object.assign(fake.scrubbing.privateAddresses, { isPrivate });
    return { ...fake, errors, fail };
  };

  it("is reported, gets SERVFAIL, and frees its place for the next question", async () => {
    const { ask, fail, errors, asked } = failing({ limits: { queriesInFlight: 1 } });
    fail();
    for (const name of ["one.example", "two.example", "three.example"])
      expect((await ask(queryFor(name))).answer.outcome).toBe("servfail");
    expect(errors.map(String)).toEqual(Array(3).fill("Error: cannot be read"));
    expect(asked).toHaveLength(3);
  });

  it("leaves a stale answer in use", async () => {
    const { ask, fail, clock } = failing();
    await ask(QUERY);
    await clock.advance(31_000);
    fail();
    expect((await ask(QUERY)).origin).toMatchObject({ isStale: true });
  });
});

describe("stale answers (RFC 8767 section 5)", () => {
  /** One answer, then something else; an hour after the answer's TTL is over. */
  async function stale(later: Handler, changes = {}) {
    const opened = fakeForwarder({ one: saysInTurn(addressOf("192.0.2.1"), later) }, changes);
    await opened.ask(QUERY);
    await opened.clock.advance(HOUR);
    return opened;
  }

  it("are used if upstreams fail, and are not refreshed again for 30 s (failure recheck timer)", async () => {
    const { ask, asked, clock, counted } = await stale(dead);
    const given = await ask(QUERY);
    expect([addresses(given), ttls(given), errors(given)]).toEqual([["192.0.2.1"], [30], [3]]);
    expect(given.answer.freshness).toBe(30);
    expect(given.origin).toEqual({ upstream: "one", ageSeconds: 3600, isStale: true });
    await clock.advance(29_999);
    expect(errors(atOnce(ask(QUERY)))).toEqual([3]);
    expect(asked).toHaveLength(2);
    await clock.advance(1);
    expect(errors(await ask(QUERY))).toEqual([3]);
    expect(asked).toHaveLength(3);
    expect(counted()).toEqual({ miss: 1, stale: 3 });
  });

  it("are refreshed as soon as an upstream answers another query", async () => {
    const { ask, clock } = await stale(saysInTurn(dead, addressOf("192.0.2.8"), addressOf("192.0.2.9")));
    expect(errors(await ask(QUERY))).toEqual([3]);
    await clock.advance(1000);
    expect(errors(atOnce(ask(QUERY)))).toEqual([3]);
    await ask(queryFor("other.example.com"));
    expect(addresses(await ask(QUERY))).toEqual(["192.0.2.9"]);
  });

  it("are not where it answers, but not for this name", async () => {
    const { ask, clock } = await stale(saysInTurn(says({ rcode: 2 }), addressOf("192.0.2.8")));
    expect(errors(await ask(QUERY))).toEqual([3]);
    await clock.advance(1000);
    await ask(queryFor("other.example.com"));
    expect(errors(atOnce(ask(QUERY)))).toEqual([3]);
  });
  it("are given after 1.8 s where upstreams are slow (client response timer); what comes later is kept", async () => {
    const { exchange, release } = slow("192.0.2.2");
    const { ask, clock } = await stale(exchange);
    let given: OutsideAnswer | undefined;
    void Promise.resolve(ask(QUERY)).then((answer) => {
      given = answer;
    });
    await clock.advance(1799);
    expect(given).toBeUndefined();
    await clock.advance(1);
    await settle();
    expect(errors(given!)).toEqual([3]);
    release();
    await settle();
    const fresh = atOnce(ask(QUERY));
    expect([addresses(fresh), errors(fresh)]).toEqual([["192.0.2.2"], []]);
  });

  it("are replaced by any newer answer", async () => {
    const { ask } = await stale(says({ rcode: 3, authorities: [soaRecord(60, 60)] }));
    expect((await ask(QUERY)).answer.outcome).toBe("nxdomain");
    expect(atOnce(ask(QUERY)).answer.outcome).toBe("nxdomain");

    const uncacheable = await stale(addressOf("192.0.2.9", 0));
    expect(addresses(await uncacheable.ask(QUERY))).toEqual(["192.0.2.9"]);
    expect(uncacheable.forwarder.cached.answers).toBe(0);
  });
  it("are also for clients that may not use upstreams", async () => {
    const { ask } = await stale(silent, { clients: { queriesPerSecond: 0.0001, burst: 1 } });
    expect(atOnce(ask(queryFor("other.example.com"))).answer.outcome).toBe("refused");
    expect(errors(atOnce(ask(QUERY)))).toEqual([3]);
  });
});

it("the limits of a client count queries to upstreams: REFUSED, Prohibited (RFC 8914 section 4.19), and the time to retry", async () => {
  const clients = { queriesPerSecond: 2, burst: 3 };
  const { ask, clock, counted } = fakeForwarder({ one: addressOf("192.0.2.1") }, { clients });
  const query = (index: number) => queryFor(`name-${index}.example.com`, withEdns);
  for (let index = 0; index < 3; index++) await ask(query(index));
  for (let count = 0; count < 10; count++) atOnce(ask(query(0)));
  const refused = atOnce(ask(query(3)));
  expect(refused).toMatchObject({ answer: { outcome: "refused", freshness: 0 }, retryAfter: 1 });
  expect(errors(refused)).toEqual([18]);
  expect(addresses(await ask(query(4), "192.0.2.78"))).toEqual(["192.0.2.1"]);
  await clock.advance(500);
  expect(addresses(await ask(query(3)))).toEqual(["192.0.2.1"]);
  expect(counted()).toEqual({ miss: 5, hit: 10, limited: 1 });
});

it("what goes on after an answer is handed to the host", async () => {
  const works: Promise<unknown>[] = [];
  const { ask } = fakeForwarder(
    { one: addressOf("192.0.2.1") },
    { background: (work) => void works.push(work) },
  );
  await ask(QUERY);
  atOnce(ask(QUERY));
  expect(works).toHaveLength(1);
});
