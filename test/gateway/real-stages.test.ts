import dnsPacket from "dns-packet";
import { expect, test } from "vitest";
import { Gateway } from "../../src/gateway/gateway.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { FakeClock } from "./fake-clock.ts";
import { realStages } from "./real-stages.ts";

async function openReal() {
  const clock = new FakeClock();
  const gateway = await Gateway.open({
    store: createMemoryStore(),
    stages: realStages(),
    clock,
    onEvent: () => {},
  });
  const ask = (name = "web.shop.svc.clusterset.local") => {
    const query = dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "A", name }] });
    const decoded = dnsPacket.decode(Buffer.from(gateway.answer(query, undefined, clock.now())!.bytes));
    const answers = (decoded.answers ?? []) as { data: string; ttl: number }[];
    const { rcode } = decoded as unknown as { rcode: string };
    return {
      rcode,
      addresses: answers.map(({ data }) => data).sort(),
      ttls: new Set(answers.map(({ ttl }) => ttl)),
    };
  };
  const done = async <Result>(promise: Promise<Result>) => {
    await clock.advance(0);
    return promise;
  };
  return { gateway, clock, ask, done };
}

test("names are answered from what is pushed, with TTLs that do not outlive the lease", async () => {
  const { gateway, clock, ask, done } = await openReal();
  expect(ask().rcode).toBe("SERVFAIL");
  const west = await done(gateway.replace("west", shopSnapshot("west", 2), 20));
  const east = { ...shopSnapshot("east", 1) };
  await done(gateway.replace("east", east, 100));
  expect(ask()).toEqual({
    rcode: "NOERROR",
    addresses: ["10.0.0.0", "10.0.0.0", "10.0.0.1"].slice(1),
    ttls: new Set([20]),
  });

  const patch = {
    exports: {
      "shop/web": { endpoints: { "http/TCP/8080": { members: { "10.0.0.1": { ready: false } } } } },
    },
  };
  const patched = await done(gateway.patch("west", west.generation, patch, 20));
  expect(ask().addresses).toEqual(["10.0.0.0"]);

  await clock.advance(15_000);
  expect(ask("hello.shop.svc.clusterset.local").rcode).toBe("NXDOMAIN");
  await gateway.renew("west", patched.generation, 60);
  expect(ask().ttls).toEqual(new Set([30]));

  await clock.advance(60_000);
  expect(ask()).toMatchObject({ rcode: "NOERROR", addresses: ["10.0.0.0"] });
  await clock.advance(25_000);
  expect(ask().rcode).toBe("SERVFAIL");
});

test("a push that changes no answer keeps the image, whatever the time", async () => {
  const { gateway, clock, done } = await openReal();
  await done(gateway.replace("west", shopSnapshot("west"), 60));
  const { image } = gateway.current(clock.now())!;
  await clock.advance(10_000);
  await done(gateway.replace("west", structuredClone(shopSnapshot("west")), 60));
  expect(gateway.current(clock.now())!.image).toBe(image);
});
