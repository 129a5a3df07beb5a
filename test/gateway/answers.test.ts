import dnsPacket from "dns-packet";
import { expect, test } from "vitest";
import { localityView } from "../../src/zone/world.ts";
import { twoClusters } from "../resolve/world.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { FakeClock } from "./fake-clock.ts";
import { putSnapshot } from "./open-gateway.ts";
import { answerNow, openKeyed } from "./open-keyed.ts";

function open() {
  const clock = new FakeClock();
  const gateway = openKeyed({ clock });
  const ask = (name = "web.shop.svc.clusterset.local", view?: string) => {
    const query = dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "A", name }] });
    const decoded = dnsPacket.decode(
      Buffer.from(answerNow(gateway.everything, query, view, clock.now()).bytes),
    );
    const answers = (decoded.answers ?? []) as { data: string; ttl: number }[];
    const { rcode } = decoded as unknown as { rcode: string };
    return {
      rcode,
      addresses: answers.map(({ data }) => data).sort(),
      ttls: new Set(answers.map(({ ttl }) => ttl)),
    };
  };
  return { gateway, clock, ask };
}
test("the view of a cluster whose lease expired never has another cluster's clusterset IPs", async () => {
  const { gateway, clock, ask } = open();
  const [east, west] = twoClusters();
  const web = "web.shop.svc.clusterset.local";
  await putSnapshot(gateway, east!, { leaseSeconds: 100 });
  await putSnapshot(gateway, west!, { leaseSeconds: 10 });
  expect(ask(web, "west").addresses).toEqual(["10.201.0.1"]);
  await clock.advance(10_000);
  expect(gateway.everything.hasCluster("west")).toBe(true);
  expect(ask(web, "west")).toMatchObject({ rcode: "NOERROR", addresses: ["10.1.0.8"] });
  expect(ask("log.ops.svc.clusterset.local", "west").addresses).toEqual(["192.0.2.10"]);
  expect(ask(web).addresses).toEqual(["10.200.0.1"]);
  expect(ask(web, "east").addresses).toEqual(["10.200.0.1"]);
  expect(ask(web, localityView({ region: "eu" })).addresses).toEqual(["10.200.0.1"]);

  await putSnapshot(gateway, west!, { leaseSeconds: 10 });
  expect(ask(web, "west").addresses).toEqual(["10.201.0.1"]);
  await gateway.leave("west");
  expect(gateway.everything.hasCluster("west")).toBe(false);
});

test("a push that changes nothing keeps compiled names and the SOA serial, whatever the time", async () => {
  const { gateway, clock, ask } = open();
  await putSnapshot(gateway, shopSnapshot("west"), { leaseSeconds: 60 });
  ask();
  const { world } = gateway.everything.current()!;
  const { serial } = world;
  const { compiledBytes, stateHash } = gateway.everything.status();
  expect(compiledBytes).toBeGreaterThan(0);
  await clock.advance(10_000);
  await putSnapshot(gateway, structuredClone(shopSnapshot("west")), { leaseSeconds: 60 });
  expect(gateway.everything.current()!.world).toBe(world);
  expect(world.serial).toBe(serial);
  expect(gateway.everything.status()).toMatchObject({ compiledBytes, stateHash });
});
