import { describe, expect, it } from "vitest";
import { podsKey } from "../../src/database/places.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { PartMemory } from "../../src/transfer/part-cache.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { emptySnapshot, headlessExport } from "../snapshot/worlds.ts";
import { openPair } from "./pair.ts";

const ZONE = "svc.clusterset.local";
const KIBIBYTE = 1024;

/** A snapshot with that many services of two endpoints each; `changed` has a third one. */
function worldOf(services: number, changed = -1) {
  const exports = Object.fromEntries(
    Array.from({ length: services }, (_, index) => [
      `shop/web-${index}`,
      { ...headlessExport(index === changed ? 3 : 2), exportedAt: "2024-01-01T00:00:00Z" },
    ]),
  );
  return { ...emptySnapshot("west"), namespaces: { shop: {} }, exports };
}

/** A primary with many services, and an isolate: a secondary that has what queries needed. */
async function openIsolate(cacheBytes = 1024 * KIBIBYTE, services = 600, view?: string) {
  const memory = new PartMemory(cacheBytes);
  const pair = await openPair({}, { memory, scope: { view } });
  const { clock, held, source, secondary, done } = pair;
  const change = (changed?: number) => held.put(worldOf(services, changed), 3600);
  await change();
  /** Queries that come at the same time. */
  const askAll = (names: readonly string[], type = "A") =>
    done(
      Promise.all(
        names.map((name) =>
          Promise.resolve(secondary.answer(encodeQuery(name, type), undefined, clock.now())),
        ),
      ),
    );
  const kindsOf = () => {
    const { kinds } = source;
    source.forget();
    return kinds;
  };
  return { ...pair, memory, change, askAll, kindsOf };
}

/** Each outcome that answers have. */
async function outcomes(answers: Promise<readonly (Answer | undefined)[]>): Promise<unknown[]> {
  return [...new Set((await answers).map((answer) => answer?.outcome))];
}

/** Numbers from 0 on, as names. */
function namesOf(count: number, name: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => name(index));
}

describe("an isolate that is cold", () => {
  it("answers after the world, the changes and one key", async () => {
    const { ask, kindsOf } = await openIsolate();
    expect((await ask(`web-7.shop.${ZONE}`)).addresses).toHaveLength(2);
    expect(kindsOf()).toEqual(["world", "changes", "key"]);
    expect((await ask(`web-7.shop.${ZONE}`, "SRV")).rcode).toBe("NOERROR");
    expect(kindsOf()).toEqual([]);
  });
});

describe("keys that no DNS name has", () => {
  const odd = (key: string) => ({ ...emptySnapshot("east"), exports: { [key]: headlessExport(1) } });
  const long = "a".repeat(300);

  it.each([`shop/${long}`, `${long}/web`, "shop/*", "*/web"])(
    "%s: are in no list, so that other names are answered, and made-up ones cost the primary nothing",
    async (key) => {
      const { held, ask, askAll, kindsOf } = await openIsolate(undefined, 3);
      await held.put(odd(key), 3600);
      expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(2);
      expect((await ask(`web-2.shop.${ZONE}`)).addresses).toHaveLength(2);
      await askAll([`first.shop.${ZONE}`, `first.elsewhere.${ZONE}`]);
      kindsOf();
      await askAll(namesOf(100, (index) => `made-up-${index}.shop.${ZONE}`));
      await askAll(namesOf(100, (index) => `web.made-up-${index}.${ZONE}`));
      expect(kindsOf().filter((kind) => kind === "key").length).toBeLessThan(10);
    },
  );

  it("are in the list of services as they are", async () => {
    const { clock, held, secondary, done, ask } = await openIsolate(undefined, 3);
    await held.put({ ...odd(`shop/${long}`), namespaces: { shop: {} } }, 3600);
    await clock.advance(5000);
    await ask();
    const list = await done(secondary.services({ words: [], view: undefined, offset: 0, most: 10 }));
    expect(list?.services.map(({ name }) => name)).toEqual([long, "web-0", "web-1", "web-2"]);
  });
});

describe("names that do not exist", () => {
  const made = (index: number) => `made-up-${index}`;

  it.each([
    ["in a namespace that exists", (index: number) => `${made(index)}.shop.${ZONE}`],
    ["in namespaces that do not exist", (index: number) => `web.${made(index)}.${ZONE}`],
    ["which are namespaces", (index: number) => `${made(index)}.${ZONE}`],
    ["below a service that exists", (index: number) => `${made(index)}.web-1.shop.${ZONE}`],
    ["below the zone", (index: number) => `${made(index)}.clusterset.local`],
  ])("1,000 of them %s cost 10 requests at most, one by one or all at once", async (_, name) => {
    for (const atOnce of [1, 1000]) {
      const { ask, askAll, source } = await openIsolate();
      await ask("clusterset.local");
      source.partLatency = () => 20;
      const names = namesOf(1000, name);
      for (let at = 0; at < 1000; at += atOnce)
        expect(await outcomes(askAll(names.slice(at, at + atOnce)))).toEqual(["nxdomain"]);
      expect(source.parts.length).toBeLessThanOrEqual(10);
    }
  });

  it.each([
    ["of networks that have none", (at: number) => `${at % 250}.${at % 7}.${at >> 2}.203.in-addr.arpa`],
    ["of a network that has some", (at: number) => `${at % 250}.${64 + (at >> 2)}.0.10.in-addr.arpa`],
  ])("1,000 addresses that nobody reports, %s, cost one request", async (_, name) => {
    const { ask, askAll, source } = await openIsolate();
    await ask("clusterset.local");
    source.forget();
    for (const answer of await askAll(namesOf(1000, name), "PTR"))
      expect(answer?.outcome).toMatch(/refused|nxdomain/);
    expect(source.kinds).toEqual(["names"]);
  });

  it("addresses that are reported are found by split lists, where there are many, and others are denied from them", async () => {
    const { clock, held, ask, askAll, source } = await openIsolate(4096 * KIBIBYTE);
    const addresses = namesOf(6000, (index) => `10.${128 + (index >> 8)}.${index & 255}.1`);
    const all = endpoints(...[...addresses, "fd00::1"].map((address) => ({ address })));
    const db = exported({ headless: true, endpoints: all });
    await held.put(snapshot("east", { namespaces: { data: {} }, exports: { "data/db": db } }), 3600);
    await clock.advance(4001);
    const reverse = (address: string) => `${address.split(".").reverse().join(".")}.in-addr.arpa`;
    for (const index of [0, 1, 255, 256, 4095, 4096, 5999])
      expect((await ask(reverse(addresses[index]!), "PTR")).rcode).toBe("NOERROR");
    source.forget();
    await askAll(
      namesOf(1000, (index) => `1.${index & 255}.${160 + (index >> 8)}.10.in-addr.arpa`),
      "PTR",
    );
    expect(source.parts.length).toBeLessThanOrEqual(2);
    source.forget();
    const nibbles = (index: number) => [...String(index).padStart(4, "0")].join(".");
    await askAll(
      namesOf(1000, (index) => `${nibbles(index)}.1.${"0.".repeat(23)}0.0.d.f.ip6.arpa`),
      "PTR",
    );
    expect(source.kinds).toEqual(["names"]);
  });

  describe("of pods", () => {
    const withPods = (id: string, ...addresses: string[]) => ({
      ...snapshot(id, { namespaces: { data: {} } }),
      clusterZone: { name: `${id}.local`, pods: "verified" as const },
      pods: Object.fromEntries(addresses.map((address) => [`data/${address}`, {}])),
    });
    const nameOf = (address: string) => `${address.replaceAll(".", "-")}.data.pod.east.local`;

    it("are denied from the list of their bucket, which is fetched once after it changed", async () => {
      const { clock, held, ask, askAll, source } = await openIsolate(undefined, undefined, "east");
      const bucket = podsKey("data/10.9.0.1");
      const addresses = namesOf(65_536, (index) => `10.8.${index >> 8}.${index & 255}`).filter(
        (address) => podsKey(`data/${address}`) === bucket,
      );
      await held.put(withPods("east", "10.9.0.1"), 3600);
      await clock.advance(4001);
      expect((await ask(nameOf("10.9.0.1"))).addresses).toEqual(["10.9.0.1"]);
      expect((await ask(nameOf(addresses[0]!))).rcode).toBe("NXDOMAIN");
      await held.put(withPods("east", "10.9.0.1", addresses[1]!), 3600);
      await clock.advance(4001);
      expect((await ask(nameOf(addresses[1]!))).addresses).toEqual([addresses[1]]);
      source.forget();
      expect(await outcomes(askAll(addresses.slice(2, 100).map(nameOf)))).toEqual(["nxdomain"]);
      expect(source.parts.length).toBeLessThanOrEqual(1);
    });

    it("are denied from a list without those of other clusters", async () => {
      const { clock, held, ask, source } = await openIsolate(undefined, undefined, "east");
      await held.put(withPods("east", "10.9.0.1"), 3600);
      await held.put(withPods("west", "10.9.0.2"), 3600);
      await clock.advance(4001);
      const lists: string[] = [];
      source.changePart = (bytes, path) => {
        if (path.includes("list=pods")) lists.push(new TextDecoder().decode(bytes));
        return bytes;
      };
      for (const address of ["10.9.0.2", "10.9.0.3"])
        expect(await ask(nameOf(address))).toMatchObject({ rcode: "NXDOMAIN" });
      expect(lists.length).toBeGreaterThan(0);
      expect(lists.join()).not.toContain("10.9.0.2");
    });
  });

  it("are denied from split lists in a namespace with many services", async () => {
    const { ask, askAll, source } = await openIsolate(4096 * KIBIBYTE, 10_000);
    await ask(`web-9999.shop.${ZONE}`);
    for (const name of namesOf(1000, (index) => `web-${index}0x.shop.${ZONE}`))
      expect(await outcomes(askAll([name]))).toEqual(["nxdomain"]);
    expect(source.parts.length).toBeLessThanOrEqual(20);
    for (const index of [0, 5, 17, 999, 4711, 9999])
      expect(await ask(`web-${index}.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
  });
});

describe("keys in memory", () => {
  it("are fetched anew when the log names them, and no others; queries after that do not wait", async () => {
    const { clock, ask, askAll, change, kindsOf, source } = await openIsolate();
    await ask(`web-0.shop.${ZONE}`);
    await askAll(namesOf(100, (index) => `web-${index}.shop.${ZONE}`));
    await change(20);
    kindsOf();
    await clock.advance(1001);
    await ask(`web-1.shop.${ZONE}`);
    await clock.advance(1);
    expect(kindsOf()).toEqual(["key"]);
    expect((await ask(`web-20.shop.${ZONE}`)).addresses).toHaveLength(3);
    await askAll(namesOf(100, (index) => `web-${index}.shop.${ZONE}`));
    expect(source.parts).toEqual([]);
  });

  it("that no cluster shares are untouched by one that comes, lapses, returns and goes", async () => {
    const { clock, held, ask, kindsOf } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    kindsOf();
    const other = snapshot("east", { namespaces: { own: {} }, exports: { "own/db": headlessExport(1) } });
    const come = () => held.put(other, 5);
    for (const step of [come, () => clock.advance(10_000), come, () => held.gateway.leave("east")]) {
      await step();
      await clock.advance(4001);
      await ask(`web-1.shop.${ZONE}`);
      expect(kindsOf()).not.toContain("key");
    }
  });

  it("stay within the bound, those that queries used last", async () => {
    const bound = 128 * KIBIBYTE;
    const { ask, source, memory } = await openIsolate(bound);
    let most = 0;
    await ask(`web-1.shop.${ZONE}`);
    for (let service = 0; service < 600; service += 5) {
      expect((await ask(`web-${service}.shop.${ZONE}`)).addresses).toHaveLength(2);
      // Used again and again, it stays.
      await ask(`web-1.shop.${ZONE}`);
      most = Math.max(most, memory.bytes);
    }
    expect(most).toBeLessThanOrEqual(bound);
    expect(most).toBeGreaterThan(bound / 2);
    expect(source.parts.filter((path) => path.includes("label=web-1&"))).toHaveLength(1);
  });

  it("that another query's cancelled request was to bring are fetched after a while", async () => {
    const { clock, source, secondary, ask, askAll } = await openIsolate();
    await ask("clusterset.local");
    source.hangs = true;
    void secondary.answer(encodeQuery(`web-7.shop.${ZONE}`, "A"), undefined, clock.now());
    source.hangs = false;
    const started = clock.now();
    expect(await outcomes(askAll([`web-7.shop.${ZONE}`]))).toEqual(["answer"]);
    expect(clock.now() - started).toBeLessThan(500);
  });
});

describe("a part that cannot be had", () => {
  it("leaves SERVFAIL with Not Ready for its names alone, and is requested again", async () => {
    const { source, ask, events } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    source.partFailure = new Error("connection refused");
    expect(await ask(`web-2.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    expect(await ask(`web-1.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR", errors: [] });
    expect(events).toContainEqual(expect.objectContaining({ event: "part-unavailable" }));
    source.partFailure = undefined;
    expect(await ask(`web-2.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
  });

  it("is answered as it was, and the answer says that it is stale", async () => {
    const { clock, source, ask, change } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    await change(1);
    source.partFailure = new Error("connection refused");
    await clock.advance(4001);
    const seen = await ask(`web-1.shop.${ZONE}`);
    expect(seen).toMatchObject({ rcode: "NOERROR", errors: [3] });
    expect(seen.addresses).toHaveLength(2);
    source.partFailure = undefined;
    expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(3);
  });

  it("is looked for at the next state where the log is another one", async () => {
    const { source, ask } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    let gone = 1;
    source.changePart = (bytes) => (gone-- > 0 ? "gone" : bytes);
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
  });

  it("is given up where it is gone for ever", async () => {
    const { source, ask } = await openIsolate();
    await ask("clusterset.local");
    source.changePart = () => "gone";
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.kinds.filter((kind) => kind === "key").length).toBeLessThanOrEqual(3);
  });

  it.each([
    ["cut off", (bytes: Uint8Array<ArrayBuffer>) => bytes.slice(0, -4)],
    ["of another form", (bytes: Uint8Array<ArrayBuffer>) => bytes.fill(0x7b, 0, 16)],
    ["empty", () => new Uint8Array()],
  ])("is %s: it is rejected, dropped, and not in memory", async (_, change) => {
    const { source, ask, events } = await openIsolate();
    await ask("clusterset.local");
    source.changePart = change;
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.dropped).toEqual([source.parts.at(-1)]);
    expect(events).toContainEqual(expect.objectContaining({ event: "part-rejected" }));
    source.changePart = (bytes) => bytes;
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
  });

  it("is too large for the memory of all: its names alone are SERVFAIL, and others are followed", async () => {
    const { clock, held, ask } = await openIsolate(16 * KIBIBYTE, 3);
    const { exports, ...world } = worldOf(3);
    const putHuge = (size: number, others = exports) =>
      held.put({ ...world, exports: { ...others, "shop/huge": headlessExport(size) } }, 3600);
    await putHuge(2000);
    expect(await ask(`huge.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    await putHuge(2001, worldOf(3, 1).exports);
    await clock.advance(4001);
    expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(3);
  });
});

describe("a primary's log", () => {
  it("that was set back, as a backup is, counts as another one: nothing in memory is believed", async () => {
    const { clock, held, ask, events, change } = await openIsolate();
    const backup = held.database;
    await change(1);
    expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(3);
    backup.exec("DELETE FROM log WHERE position = (SELECT max(position) FROM log)");
    held.restart();
    clock.stall(5000);
    await change(2);
    await clock.advance(4001);
    await ask(`web-1.shop.${ZONE}`);
    expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(2);
    expect(events).toContainEqual({ event: "log-replaced" });
  });

  it("with more changes than the primary remembers is begun anew", async () => {
    const { clock, held, ask } = await openIsolate(1024 * KIBIBYTE, 3);
    await ask(`web-1.shop.${ZONE}`);
    for (let round = 0; round < 3000; round++) await held.put(worldOf(3, round % 3), 3600);
    await clock.advance(4001);
    expect((await ask(`web-2.shop.${ZONE}`)).addresses).toHaveLength(3);
    expect((await ask(`web-1.shop.${ZONE}`)).addresses).toHaveLength(2);
  });
});
