import { setImmediate, setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CachedTransferSource, type LocationCache } from "../../../src/hosts/workers/cached-source.ts";
import { PartMemory } from "../../../src/transfer/part-cache.ts";
import { markText, partPath } from "../../../src/transfer/part-forms.ts";
import type { FakeClock } from "../../gateway/fake-clock.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { openPair, seeded, WEB } from "../../transfer/pair.ts";

const KEY = "https://object.invalid/1.0.0";

/** A location's cache, with latency and errors in the test's hands. */
class FakeCache implements LocationCache {
  /** Milliseconds until a look or a change has happened. */
  latency = 0;
  /** Whether nothing is kept, as on workers.dev. */
  keepsNothing = false;
  /** Whether bodies end before their length. */
  cutOff = false;
  /** What every look and change fails with. */
  failure: Error | undefined;
  readonly #clock: FakeClock;
  readonly #entries = new Map<string, { readonly body: ArrayBuffer; readonly until: number }>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get keys(): string[] {
    return [...this.#entries.keys()];
  }

  async match(url: string): Promise<Response | undefined> {
    await this.#pass();
    const entry = this.#entries.get(url);
    if (entry === undefined || entry.until <= this.#clock.now()) return undefined;
    const headers = {
      "content-length": String(this.cutOff ? entry.body.byteLength + 1 : entry.body.byteLength),
    };
    return new Response(entry.body.slice(), { headers });
  }

  async put(url: string, response: Response): Promise<void> {
    const body = await response.arrayBuffer();
    const seconds = Number(/max-age=(\d+)/.exec(response.headers.get("cache-control") ?? "")?.[1]);
    await this.#pass();
    if (!this.keepsNothing) this.#entries.set(url, { body, until: this.#clock.now() + seconds * 1000 });
  }

  async delete(url: string): Promise<boolean> {
    await this.#pass();
    return this.#entries.delete(url);
  }

  #pass(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return new Promise((resolve) => void this.#clock.setTimer(this.latency, resolve));
  }
}

/** Lets time pass in small steps, in each of which bodies are read as well. */
async function pass(clock: FakeClock, milliseconds: number, step = 5): Promise<void> {
  for (let left = milliseconds; left > 0; left -= step) {
    await clock.advance(Math.min(step, left));
    await setImmediate();
  }
}

/** Waits while time passes, no faster than real time: bodies are read and hashed in other threads. */
async function done<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let isSettled = false;
  void Promise.allSettled([promise]).then(() => {
    isSettled = true;
  });
  while (!isSettled) {
    await pass(clock, 1, 1);
    await setTimeout(1);
  }
  return promise;
}

/** A primary that serves `shop/web` with two addresses, and the shared source of one location. */
async function openLocation() {
  const { clock, source: object, gateway, push, open } = await openPair();
  await push("west", 2, 3600);
  const cache = new FakeCache(clock);
  const background: Promise<unknown>[] = [];
  const shared = (scope = "") =>
    new CachedTransferSource({
      source: object,
      cache,
      key: KEY,
      scope,
      background: (work) => background.push(work),
      clock: () => clock.now(),
      sleep: (milliseconds) => new Promise((resolve) => void clock.setTimer(milliseconds, resolve)),
    });
  /** The path of the key of `shop/web`. */
  const path = async () => {
    const { base, epoch } = await object.state(0);
    object.forget();
    const of = { zone: "clusterset", namespace: "shop", label: "web" };
    return partPath({ kind: "key", of }, markText(base), epoch, "");
  };
  return { clock, gateway, object, cache, push, open, shared, background, path };
}

describe("the isolates of a location share what one of them fetched", () => {
  test("a state that is young enough, by the time of the object's answer", async () => {
    const { clock, object, shared } = await openLocation();
    const first = await done(clock, shared().state(1000));
    await pass(clock, 900);
    expect(await done(clock, shared().state(1000))).toEqual(first);
    expect(object.states).toHaveLength(1);
    await pass(clock, 100);
    const second = await done(clock, shared().state(1000));
    expect(second.at).toBeGreaterThan(first.at + 900);
    expect(await done(clock, shared().state(200))).toEqual(second);
    expect(object.states).toHaveLength(2);
  });

  test("a part, byte by byte, for a month", async () => {
    const { clock, object, cache, shared, path } = await openLocation();
    const part = await path();
    const first = await done(clock, shared().part(part));
    expect(first?.length).toBeGreaterThan(100);
    // One of which the cache returns only a piece is requested again.
    cache.cutOff = true;
    await pass(clock, 5000, 1000);
    expect(await done(clock, shared().part(part))).toEqual(first);
    cache.cutOff = false;
    await pass(clock, 29 * 86_400_000, 86_400_000);
    expect(await done(clock, shared().part(part))).toEqual(first);
    expect(object.parts).toEqual([part, part]);
  });

  test("a state by its scope", async () => {
    const { clock, object, shared } = await openLocation();
    for (const scope of ["", '{"view":"west"}', '{"view":"east"}', '{"view":"west"}', ""])
      await done(clock, shared(scope).state(1000));
    expect(object.states).toHaveLength(3);
  });

  test("a part that is gone is not kept, and one that is no good is dropped", async () => {
    const { clock, object, shared, path, cache, background } = await openLocation();
    const part = await path();
    const gone = part.replace("v=0-0", "v=9-9");
    expect(await done(clock, shared().part(gone))).toBeUndefined();
    expect(cache.keys.filter((key) => key === `${KEY}/${gone}`)).toEqual([]);
    await done(clock, shared().part(part));
    expect(cache.keys).toContain(`${KEY}/${part}`);
    shared().drop(part);
    await done(clock, Promise.all(background));
    expect(cache.keys).not.toContain(`${KEY}/${part}`);
    object.forget();
    await pass(clock, 5000, 1000);
    await done(clock, shared().part(part));
    expect(object.parts).toEqual([part]);
  });

  test("a failure is not shared, and the next isolate sends a request after a while", async () => {
    const { clock, object, shared } = await openLocation();
    object.failure = new Error("unreachable");
    await expect(done(clock, shared().state(1000))).rejects.toThrow("unreachable");
    object.failure = undefined;
    const asked = clock.now();
    await done(clock, shared().state(1000));
    // Others count on who asked last for 400 ms, then ask themselves.
    expect(clock.now() - asked).toBeLessThan(500);
    expect(object.states).toHaveLength(2);
  });

  test("with a cache that fails, or has an invalid entry, isolates use the object", async () => {
    const { clock, object, shared, cache, path } = await openLocation();
    const part = await path();
    const page = new Response("<html>", { headers: { "cache-control": "max-age=60" } });
    await done(clock, cache.put(`${KEY}/state`, page));
    expect(await done(clock, shared().state(1000))).toMatchObject({ status: { ready: true } });
    cache.failure = new Error("the cache is out of order");
    expect(await done(clock, shared().state(1000))).toMatchObject({ status: { ready: true } });
    expect(await done(clock, shared().part(part))).toEqual(await done(clock, object.part(part)));
    expect(object.states).toHaveLength(2);
  });

  test("an aborted isolate stops asking", async () => {
    const { clock, object, shared } = await openLocation();
    object.stateLatency = 300;
    const first = shared().state(1000);
    await pass(clock, 10);
    const controller = new AbortController();
    const second = shared().state(1000, controller.signal);
    controller.abort(new Error("called off"));
    await expect(done(clock, second)).rejects.toThrow("called off");
    await done(clock, first);
    expect(object.states).toHaveLength(1);
  });
});

/** Isolates of one location that are asked ten times a second each, for some time. */
async function runLocation(isolates: number, milliseconds: number, cacheKeeps = true) {
  const { clock, gateway, object, cache, push, open, shared } = await openLocation();
  cache.keepsNothing = !cacheKeeps;
  cache.latency = 4;
  object.stateLatency = 80;
  object.partLatency = () => 100;
  const random = seeded(7);
  const secondaries = Array.from({ length: isolates }, () =>
    open({ source: shared(), random, memory: new PartMemory(1 << 24) }),
  );
  const query = encodeQuery(WEB, "A");
  const seen = { answers: 0, stale: 0 };
  for (let time = 0; time < milliseconds; time += 5) {
    if (time === milliseconds / 2) {
      object.parts.length = 0;
      void push("west", 3, 3600);
    }
    for (const secondary of secondaries) {
      if (random() > 0.05) continue;
      const fresh = secondary.freshen(clock.now());
      const answer = async () => {
        const { bytes } = (await secondary.answer(query, undefined, clock.now()))!;
        seen.answers++;
        if (extendedErrors(bytes).length > 0) seen.stale++;
      };
      void (fresh === undefined ? answer() : fresh.then(answer));
    }
    await pass(clock, 5);
  }
  return { object, seen, newest: gateway.everything.status().stateHash, secondaries };
}

describe("many isolates send the object as many requests as few", () => {
  test("200 isolates of a location: about a state a second, and what changed once", async () => {
    const { object, seen, newest, secondaries } = await runLocation(200, 10_000);
    // Without sharing it would be 2,000.
    expect(object.states.length).toBeLessThan(40);
    expect(object.kinds).toEqual(["key"]);
    for (const secondary of secondaries) expect(secondary.status().stateHash).toBe(newest);
    expect(seen.stale).toBe(0);
    expect(seen.answers).toBeGreaterThan(10_000);
  });

  test("if the cache keeps nothing, each isolate sends requests to the object", async () => {
    const { object, seen, newest, secondaries } = await runLocation(5, 10_000, false);
    expect(object.states.length).toBeGreaterThan(5 * 6);
    expect(object.kinds).toEqual(["key", "key", "key", "key", "key"]);
    for (const secondary of secondaries) expect(secondary.status().stateHash).toBe(newest);
    expect(seen.stale).toBe(0);
  });
});
