import { describe, expect, it } from "vitest";
import { MAX_LABEL_BYTES } from "../../src/dns/codes.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../src/gateway/pushing/limits.ts";
import { udpTransport } from "../../src/resolve/message/transport.ts";
import { sleep, within } from "../../src/transfer/deadline.ts";
import { local } from "../conformance/cases/cluster-local.ts";
import { FakeClock } from "../gateway/fake-clock.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openFresh, openPair, WEB } from "./pair.ts";

describe("a secondary", () => {
  it("answers in the view of a query, and over its transport, as the primary does", async () => {
    const { clock, held, gateway, secondary, done, ask } = await openFresh();
    const shop = shopSnapshot("east", 40);
    const services = { "shop/own": local({ clusterIPs: ["10.3.0.1"] }) };
    const clusterZone = { name: "cluster.local", pods: "disabled" as const };
    await held.put({ ...shop, clusterZone, services });
    clock.stall(5000);
    await ask();
    const own = "own.shop.svc.cluster.local";
    for (const [name, view] of [
      [own, "east"],
      [own, "west"],
      [own, undefined],
      [WEB, undefined],
    ] as const)
      for (const transport of [undefined, udpTransport(512)]) {
        const now = clock.now();
        const answer = secondary.answer(encodeQuery(name, "A"), view, now, transport);
        expect(await done(Promise.resolve(answer))).toEqual(
          gateway.answer(encodeQuery(name, "A"), view, now, transport),
        );
      }
    const inEast = await secondary.answer(encodeQuery(own, "A"), "east", clock.now());
    expect(inEast).toMatchObject({ outcome: "answer" });
  });

  it("answers from the largest service that a cluster may report", async () => {
    const { held, ask } = await openPair();
    const count = DEFAULT_GATEWAY_LIMITS.endpointsPerService;
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

  it("has a world to list services from as soon as it answers", async () => {
    const { secondary, push, ask } = await openPair();
    expect(secondary.world).toBeUndefined();
    await push("west", 2);
    await ask();
    expect(secondary.world!.frame.zones.map(({ name }) => name)).toContain("clusterset.local.");
  });

  it("ignores bytes that are not a query", async () => {
    const { clock, secondary } = await openFresh();
    expect(secondary.answer(new Uint8Array(3), undefined, clock.now())).toBeUndefined();
  });
});

describe("a time-out", () => {
  it("rejects at its end, though what it bounds never ends, and says so to it", async () => {
    const clock = new FakeClock();
    let signal: AbortSignal | undefined;
    const bounded = within(clock, 10, "the part was not transferred", (given) => {
      signal = given;
      return new Promise<never>(() => {});
    });
    const rejected = expect(bounded).rejects.toThrow("the part was not transferred within 10 ms");
    await clock.advance(9);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    await rejected;
    expect(signal?.reason).toMatchObject({ message: "the part was not transferred within 10 ms" });
  });

  it("leaves no timer behind once what it bounds has ended, or has failed", async () => {
    const clock = new FakeClock();
    expect(await within(clock, 10, "late", async () => 7)).toBe(7);
    await expect(within(clock, 10, "late", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await sleep(clock, 10, Promise.resolve());
    await sleep(clock, 10, Promise.reject(new Error("no")));
    await clock.advance(0);
    expect(clock.timers).toBe(0);
  });
});
