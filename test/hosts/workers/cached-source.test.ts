import { describe, expect, test } from "vitest";
import { CachedTransferSource } from "../../../src/hosts/workers/cached-source.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { openPair, seeded, WEB } from "../../transfer/pair.ts";
import { done, FakeCache, pass } from "./location-cache.ts";

const KEY = "https://object.invalid/1.0.0";

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
  const hash = () => gateway.status().imageHash!;
  return { clock, object, cache, push, open, shared, background, hash };
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

  test("an image, byte for byte, for a day", async () => {
    const { clock, object, shared, hash } = await openLocation();
    const first = await done(clock, shared().image(hash()));
    await pass(clock, 3_000_000, 600_000);
    expect(await done(clock, shared().image(hash()))).toEqual(first);
    expect(object.images).toEqual([hash()]);
  });

  test("a state by its scope, an image whatever the scope", async () => {
    const { clock, object, shared, hash } = await openLocation();
    for (const scope of ["", '{"view":"west"}', '{"view":"east"}', '{"view":"west"}', ""]) {
      await done(clock, shared(scope).state(1000));
      await done(clock, shared(scope).image(hash()));
    }
    expect(object.states).toHaveLength(3);
    expect(object.images).toHaveLength(1);
  });

  test("an image that is gone is not kept, and one that is no good is dropped", async () => {
    const { clock, object, shared, hash, cache, background } = await openLocation();
    expect(await done(clock, shared().image("00"))).toBeUndefined();
    expect(cache.keys.filter((key) => key.endsWith("/00"))).toEqual([]);
    await done(clock, shared().image(hash()));
    expect(cache.keys).toContain(`${KEY}/images/${hash()}`);
    shared().drop(hash());
    await done(clock, Promise.all(background));
    expect(cache.keys).not.toContain(`${KEY}/images/${hash()}`);
    object.images.length = 0;
    await pass(clock, 5000, 1000);
    await done(clock, shared().image(hash()));
    expect(object.images).toEqual([hash()]);
  });

  test("a failure is not shared, and the next isolate asks after a while", async () => {
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

  test("with a cache that fails, or has an invalid entry, isolates ask the object", async () => {
    const { clock, object, shared, cache, hash } = await openLocation();
    const page = new Response("<html>", { headers: { "cache-control": "max-age=60" } });
    await done(clock, cache.put(`${KEY}/state`, page));
    expect(await done(clock, shared().state(1000))).toMatchObject({ status: { imageHash: hash() } });
    cache.failure = new Error("the cache is out of order");
    expect(await done(clock, shared().state(1000))).toMatchObject({ status: { imageHash: hash() } });
    expect((await done(clock, shared().image(hash())))?.length).toBeGreaterThan(1000);
    expect(object.states).toHaveLength(2);
  });

  test("an image of which the cache returns only a part is fetched again", async () => {
    const { clock, object, shared, cache, hash } = await openLocation();
    const first = await done(clock, shared().image(hash()));
    cache.cutOff = true;
    await pass(clock, 5000, 1000);
    expect(await done(clock, shared().image(hash()))).toEqual(first);
    expect(object.images).toEqual([hash(), hash()]);
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

describe("a large image is streamed into the cache", () => {
  const LARGE = new Uint8Array(2 << 20).map((_, index) => index % 251);

  async function openLarge() {
    const location = await openLocation();
    location.object.changeImage = () => LARGE.slice();
    const ask = async () => {
      const image = await done(location.clock, location.shared().image(location.hash()));
      // Vitest takes seconds to compare so many octets.
      expect(image && Buffer.compare(image, LARGE)).toBe(0);
    };
    return { ...location, ask };
  }

  test("byte for byte, by one more request to the object", async () => {
    const { clock, object, ask, hash } = await openLarge();
    await ask();
    await pass(clock, 50);
    for (let isolate = 0; isolate < 3; isolate++) await ask();
    expect(object.images).toEqual([hash()]);
    expect(object.opened).toEqual([hash()]);
  });

  test("not where the cache keeps nothing", async () => {
    const { clock, object, ask, cache } = await openLarge();
    cache.keepsNothing = true;
    for (let isolate = 0; isolate < 3; isolate++) {
      await ask();
      await pass(clock, 50);
    }
    expect(object.images).toHaveLength(3);
    expect(object.opened).toEqual([]);
  });

  test("nor by an aborted isolate", async () => {
    const { clock, object, shared, hash } = await openLarge();
    object.imageLatency = 300;
    const controller = new AbortController();
    const image = shared().image(hash(), controller.signal);
    await pass(clock, 100);
    controller.abort(new Error("called off"));
    await expect(done(clock, image)).rejects.toThrow("called off");
    await pass(clock, 500);
    expect(object.opened).toEqual([]);
  });

  test.each<[string, (location: Awaited<ReturnType<typeof openLarge>>) => void]>([
    [
      "that the object does not give again",
      ({ object }) => {
        object.changeBody = () => new Error("unreachable");
      },
    ],
    [
      "that is gone by then",
      ({ object }) => {
        const images: (Uint8Array<ArrayBuffer> | "gone")[] = [LARGE.slice(), "gone"];
        object.changeImage = () => images.shift() ?? LARGE.slice();
      },
    ],
    [
      "that is cut off on its way",
      ({ object }) => {
        object.changeBody = (bytes) => {
          const parts = [bytes.subarray(0, 1 << 20)];
          return new ReadableStream({
            pull(controller) {
              const part = parts.shift();
              if (part === undefined) controller.error(new Error("the connection was lost"));
              else controller.enqueue(part);
            },
          });
        };
      },
    ],
  ])("an image %s is not kept, and the next one asks for itself", async (_, spoil) => {
    const location = await openLarge();
    spoil(location);
    const { clock, object, ask, cache, background, hash } = location;
    await ask();
    await done(clock, Promise.all(background));
    expect(object.opened).toHaveLength(1);
    expect(cache.keys).not.toContain(`${KEY}/images/${hash()}`);
    await ask();
    expect(object.images).toHaveLength(2);
  });
});

/** Isolates of one location that are asked ten times a second each, for some time. */
async function runLocation(isolates: number, milliseconds: number, cacheKeeps = true) {
  const { clock, object, cache, push, open, shared, hash } = await openLocation();
  cache.keepsNothing = !cacheKeeps;
  cache.latency = 4;
  object.stateLatency = 80;
  object.imageLatency = 200;
  const random = seeded(7);
  const secondaries = Array.from({ length: isolates }, () => open({ source: shared(), random }));
  const query = encodeQuery(WEB, "A");
  const seen = { answers: 0, stale: 0, waited: 0 };
  for (let time = 0; time < milliseconds; time += 5) {
    if (time === milliseconds / 2) {
      object.images.length = 0;
      void push("west", 3, 3600);
    }
    for (const secondary of secondaries) {
      if (random() > 0.05) continue;
      const fresh = secondary.freshen(clock.now());
      if (fresh !== undefined) seen.waited++;
      const answer = () => {
        seen.answers++;
        const { bytes } = secondary.answer(query, undefined, clock.now())!;
        if (extendedErrors(bytes).length > 0) seen.stale++;
      };
      if (fresh === undefined) answer();
      else void fresh.then(answer);
    }
    await pass(clock, 5);
  }
  return { object, seen, newest: hash(), secondaries };
}

describe("many isolates cause as many requests as few", () => {
  test("200 isolates of a location: about a state a second, and an image once", async () => {
    const { object, seen, newest, secondaries } = await runLocation(200, 10_000);
    // Without sharing it would be 2,000.
    expect(object.states.length).toBeLessThan(40);
    expect(object.images).toEqual([newest]);
    for (const secondary of secondaries) expect(secondary.status().imageHash).toBe(newest);
    expect(seen.stale).toBe(0);
    expect(seen.answers).toBeGreaterThan(10_000);
  });

  test("if the cache keeps nothing, each isolate asks the object", async () => {
    const { object, seen, newest, secondaries } = await runLocation(5, 10_000, false);
    expect(object.states.length).toBeGreaterThan(5 * 6);
    expect(object.images).toHaveLength(5);
    for (const secondary of secondaries) expect(secondary.status().imageHash).toBe(newest);
    expect(seen.stale).toBe(0);
  });
});
