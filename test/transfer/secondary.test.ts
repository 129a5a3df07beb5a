import { describe, expect, it } from "vitest";
import { MAX_LABEL_BYTES } from "../../src/dns/name.ts";
import type { MergeOptions } from "../../src/merge/merge-key.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { sleep, within } from "../../src/transfer/http-source.ts";
import { PartCache, PartMemory } from "../../src/transfer/part-cache.ts";
import { readClaims, readList, readReverse, writeJson } from "../../src/transfer/part-forms.ts";
import { DEFAULT_LIMITS } from "../config/default-limits.ts";
import { FakeClock } from "../gateway/fake-clock.ts";
import { answerNow } from "../gateway/open-keyed.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { decode, encodeQuery } from "../resolve/ask.ts";
import { openPair, WEB } from "./pair.ts";

describe("a secondary", () => {
  it("answers from the largest service that a cluster may report", async () => {
    const { held, ask } = await openPair();
    const count = DEFAULT_LIMITS.endpointsPerService;
    const host = (index: number) => `web-${index}-`.padEnd(MAX_LABEL_BYTES, "x");
    const members = Array.from({ length: count }, (_, index) => ({
      address: `10.9.${index >> 8}.${index & 255}`,
      hostname: host(index),
    }));
    const service = exported({ headless: true, endpoints: endpoints(...members) });
    await held.put(snapshot("east", { exports: { "shop/web": service } }));
    const last = `10.9.${(count - 1) >> 8}.${(count - 1) & 255}`;
    expect((await ask(`${host(count - 1)}.east.${WEB}`)).addresses).toEqual([last]);
    const reverse = `${last.split(".").reverse().join(".")}.in-addr.arpa`;
    expect((await ask(reverse, "PTR")).addresses).toEqual([`${host(count - 1)}.east.${WEB}`]);
  });

  it("keeps the names of other clusters when one changes more keys than a row of the log names", async () => {
    const { held, source, clock, push, ask } = await openPair();
    await push("west", 2);
    await held.put(snapshot("east", { namespaces: { data: {} } }));
    const addresses = Array.from({ length: 1500 }, (_, index) => ({
      address: `172.${16 + (index >> 8)}.${index & 255}.1`,
    }));
    const name = "db.data.svc.clusterset.local";
    const answers = [(await ask()).addresses, (await ask(name)).rcode];
    expect(answers).toEqual([["10.0.0.0", "10.0.0.1"], "NXDOMAIN"]);
    source.forget();
    const db = exported({ headless: true, endpoints: endpoints(...addresses) });
    await held.put(snapshot("east", { namespaces: { data: {} }, exports: { "data/db": db } }));
    await clock.advance(2000);
    await ask();
    await clock.advance(1);
    source.forget();
    expect((await ask()).addresses).toEqual(answers[0]);
    expect(source.kinds).toEqual([]);
    expect((await ask(name)).rcode).toBe("NOERROR");
  });

  const [address, reverse] = ["10.0.0.1", "1.0.0.10.in-addr.arpa"];
  const headless = (month: string) => ({
    exportedAt: `2026-${month}-01T00:00:00Z`,
    headless: true,
    endpoints: endpoints({ address, hostname: "db-0" }),
  });
  const [long, longId] = ["n".repeat(MAX_LABEL_BYTES), "c".repeat(MAX_LABEL_BYTES)];

  it.each<[string, MergeOptions, ClusterSnapshot, ClusterSnapshot, string]>([
    [
      "also where another cluster has the address in a service with the longest names",
      {},
      snapshot("victim", { exports: { "shop/db": exported(headless("01")) } }),
      snapshot(longId, {
        namespaces: { [long]: {} },
        exports: { [`${long}/${"s".repeat(MAX_LABEL_BYTES)}`]: exported(headless("02")) },
      }),
      "db-0.victim.db",
    ],
    [
      "also where a cluster that speaks for others has the address by an import",
      { grants: new Map([["hub", "*"]]) },
      snapshot("hub", {
        imports: {
          "shop/db": imported({ type: "Headless", endpoints: { legacy: endpoints({ address }) } }),
        },
      }),
      snapshot("west", { exports: { "shop/x": exported(headless("01")) } }),
      "10-0-0-1.legacy.db",
    ],
    [
      "also where the first cluster with the address may not export its service",
      { pins: { exports: new Map([["east", ["other"]]]) } },
      snapshot("east", { exports: { "shop/web": exported(headless("01")) } }),
      snapshot("west", { exports: { "shop/db": exported(headless("02")) } }),
      "db-0.west.db",
    ],
  ])("gives the primary's reverse names, %s", async (_, merging, first, second, name) => {
    const { gateway, clock, held, ask } = await openPair({}, {}, [], { merging });
    const target = `${name}.shop.svc.clusterset.local`;
    await held.put(first);
    await ask(reverse, "PTR");
    await held.put(second);
    await clock.advance(5000);
    const { answer } = decode(
      answerNow(gateway.everything, encodeQuery(reverse, "PTR"), undefined, clock.now()).bytes,
    );
    expect(answer).toEqual([`${reverse} 30 PTR ${target}`]);
    expect((await ask(reverse, "PTR")).addresses).toEqual([target]);
  });
});

it("a time-out leaves no timer behind once what it bounds has ended, or has failed", async () => {
  const clock = new FakeClock();
  expect(await within(clock, 10, "late", async () => 7)).toBe(7);
  await expect(within(clock, 10, "late", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  await sleep(clock, 10, Promise.resolve());
  await sleep(clock, 10, Promise.reject(new Error("no")));
  await clock.advance(0);
  expect(clock.timers).toBe(0);
});

it.each([
  ["a time that is none", { since: "yesterday" }],
  ["a label that is too long", { above: ["x".repeat(64)] }],
  ["more labels than a name has", { above: Array.from({ length: 128 }, () => "x") }],
])("reverse names with %s are rejected", (_, wrong) => {
  const of = { namespace: "shop", name: "web", tree: "clusterset", rank: 2, since: "-Infinity", ttl: 5 };
  const sources = [{ ...of, clusters: ["west"], above: ["web", "shop"], claimants: ["west"], ...wrong }];
  const bytes = writeJson({ at: 1, clusters: [], hasAudiences: false, sources, addresses: [] });
  expect(() => readReverse(bytes)).toThrow("cannot be read: sources.0");
});

it("each name of a list counts in memory, beside the bytes that were fetched; claims on no address push nothing out", () => {
  const memory = new PartMemory(2 ** 20);
  const cache = new PartCache(memory, "epoch", { position: 1, generation: 1 });
  const none = writeJson({ at: 1, claims: {}, namespaces: [] });
  for (let index = 0; index < 1000; index++) cache.set(`claims ${index}`, readClaims(none), none.length);
  expect(memory.bytes).toBe(0);
  expect(cache.isRight("claims 999", { position: 1, generation: 1 })).toBe(true);
  const bytes = writeJson({ at: 1, names: Array.from({ length: 1000 }, (_, index) => `name-${index}`) });
  cache.set("list", readList(bytes), bytes.length);
  expect(memory.bytes).toBeGreaterThan(bytes.length + 50 * 1000);
});
