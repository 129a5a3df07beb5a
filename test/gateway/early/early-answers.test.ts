import dnsPacket from "dns-packet";
import { describe, expect, test } from "vitest";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { GenerationMismatch } from "../../../src/gateway/gateway-types.ts";
import type { SnapshotPatch } from "../../../src/snapshot/lines/patch-line.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../../src/store/store.ts";
import { headlessExport, shopSnapshot } from "../../snapshot/worlds.ts";
import { FakeClock } from "../fake-clock.ts";
import { heldOf, patchCluster, putSnapshot } from "../pushes.ts";
import { realStages } from "../real-stages.ts";

/** A delta that makes one endpoint of `shop/web` unready. */
const UNREADY: SnapshotPatch = {
  exports: {
    "shop/web": { endpoints: { "http/TCP/8080": { members: { "10.0.0.1": { ready: false } } } } },
  },
};
const BEFORE = ["10.0.0.0", "10.0.0.1"];
const AFTER = ["10.0.0.0"];

/** A store on a disk that hangs while it is told to. What waits then goes on, or fails, when it is let go. */
function hangingDisk() {
  const inner = createMemoryStore();
  const waiting: PromiseWithResolvers<void>[] = [];
  const disk = { hangs: false, fails: undefined as Error | undefined };
  const store: SnapshotStore = {
    ...inner,
    keep: async (clusterId, change) => {
      if (disk.hangs) {
        const one = Promise.withResolvers<void>();
        waiting.push(one);
        await one.promise;
      }
      if (disk.fails !== undefined) throw disk.fails;
      await inner.keep(clusterId, change);
    },
  };
  const letGo = (error?: Error) => {
    disk.hangs = false;
    for (const { resolve, reject } of waiting.splice(0)) error === undefined ? resolve() : reject(error);
  };
  return { store, disk, letGo };
}

/** A gateway with `west` for 20 s, on a disk that hangs from then on. */
async function onHangingDisk() {
  const opened = hangingDisk();
  const { store, disk } = opened;
  const clock = new FakeClock();
  const events: GatewayEvent["event"][] = [];
  const open = () =>
    Gateway.open({ store, stages: realStages(), clock, onEvent: ({ event }) => void events.push(event) });
  const gateway = await open();
  const asked = (of: Gateway<never>) => {
    const query = dnsPacket.encode({
      type: "query",
      id: 1,
      questions: [{ type: "A", name: "web.shop.svc.clusterset.local" }],
    });
    const { answers } = dnsPacket.decode(Buffer.from(of.answer(query, undefined, clock.now())!.bytes));
    return (answers as { data: string }[]).map(({ data }) => data).sort();
  };
  const addresses = (of: unknown = gateway) => asked(of as Gateway<never>);
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    promise.catch(() => {});
    await clock.advance(0);
    return promise;
  };
  const west = await done(putSnapshot(gateway, shopSnapshot("west"), { leaseSeconds: 20 }));
  disk.hangs = true;
  /** Begins a push, as far as it gets. */
  const begin = async <Result>(promise: Promise<Result>) => {
    const state = { isSettled: false, promise };
    promise.then(
      () => (state.isSettled = true),
      () => (state.isSettled = true),
    );
    await clock.advance(0);
    return state;
  };
  const patch = (change: SnapshotPatch, generation = west.generation) =>
    patchCluster(gateway, "west", generation, change, { leaseSeconds: 20 });
  return { ...opened, gateway, clock, events, open, addresses, done, begin, patch, west };
}

describe("a changed endpoint", () => {
  test("is answered while the store writes it, and acknowledged when the store has kept it", async () => {
    const { addresses, begin, patch, letGo, events, done } = await onHangingDisk();
    const pushed = await begin(patch(UNREADY));
    expect([pushed.isSettled, addresses()]).toEqual([false, AFTER]);
    expect(events.filter((event) => event === "pushed")).toHaveLength(1);
    letGo();
    const { generation } = await done(pushed.promise);
    expect(events.filter((event) => event === "pushed")).toHaveLength(2);
    expect(addresses()).toEqual(AFTER);
    await done(patch({ exports: { "shop/web": headlessExport(3) as never } }, generation));
    expect(addresses()).toEqual([...BEFORE, "10.0.0.2"]);
  });

  test("is compiled once", async () => {
    const { begin, patch, letGo, events, done } = await onHangingDisk();
    const compiled = () => events.filter((event) => event === "compiled").length;
    const before = compiled();
    const pushed = await begin(patch(UNREADY));
    letGo();
    await done(pushed.promise);
    expect(compiled()).toBe(before + 1);
  });

  test.each([
    ["the disk", Object.assign(new Error("EIO: write"), { code: "EIO" }), true],
    ["another reason", new Error("closed"), false],
  ])(
    "is taken back if the store fails for %s: what was acknowledged is answered again",
    async (_, error, isDisk) => {
      const { gateway, addresses, begin, patch, letGo, events, done, clock, west } = await onHangingDisk();
      const pushed = await begin(patch(UNREADY));
      expect(addresses()).toEqual(AFTER);
      await clock.advance(5_000);
      letGo(error);
      await expect(done(pushed.promise)).rejects.toThrow(isDisk ? "EIO" : "closed");
      expect(addresses()).toEqual(BEFORE);
      expect(heldOf(gateway, "west")).toEqual(shopSnapshot("west"));
      expect(events.filter((event) => event === "pushed")).toHaveLength(1);
      const [status] = gateway.status().clusters;
      expect(status).toMatchObject({ generation: west.generation, live: true });
      // A push that the disk keeps from being stored shows that its cluster lives.
      expect(status!.expiresAt).toBe(clock.now() - 5_000 + 20_000);
      expect(gateway.status().storeTrouble === undefined).toBe(!isDisk);
      // The worker sends the same again.
      await done(patch(UNREADY));
      expect(addresses()).toEqual(AFTER);
    },
  );

  test("is not answered before it is stored after a write failed, until one succeeds", async () => {
    const { addresses, begin, patch, letGo, disk, done } = await onHangingDisk();
    const first = await begin(patch(UNREADY));
    letGo(new Error("closed"));
    await expect(done(first.promise)).rejects.toThrow("closed");
    disk.hangs = true;
    const second = await begin(patch(UNREADY));
    expect(addresses()).toEqual(BEFORE);
    letGo();
    const { generation } = await done(second.promise);
    disk.hangs = true;
    const third = await begin(patch({ exports: { "shop/web": headlessExport(3) as never } }, generation));
    expect(addresses()).toEqual([...BEFORE, "10.0.0.2"]);
    letGo();
    await done(third.promise);
  });

  test("that another cluster's change was compiled with is taken back alone", async () => {
    const { gateway, addresses, begin, patch, letGo, disk, done } = await onHangingDisk();
    const pushed = await begin(patch(UNREADY));
    disk.hangs = false;
    await done(putSnapshot(gateway, shopSnapshot("east", 4)));
    expect(addresses()).toContain("10.0.0.3");
    letGo(new Error("closed"));
    await expect(done(pushed.promise)).rejects.toThrow("closed");
    expect(addresses()).toContain("10.0.0.3");
    await done(gateway.leave("east"));
    expect(addresses()).toEqual(BEFORE);
  });

  test("is gone if the process dies before it is stored, and the same delta is taken then", async () => {
    const { addresses, begin, patch, open, done, disk, west } = await onHangingDisk();
    await begin(patch(UNREADY));
    disk.hangs = false;
    const restarted = await open();
    expect(addresses(restarted)).toEqual(BEFORE);
    await done(patchCluster(restarted, "west", west.generation, UNREADY, { leaseSeconds: 20 }));
    expect(addresses(restarted)).toEqual(AFTER);
  });

  test("that is taken back after its cluster's lease expired does not bring the cluster back", async () => {
    const { gateway, begin, patch, letGo, done, clock } = await onHangingDisk();
    const pushed = await begin(patch(UNREADY));
    await clock.advance(20_000);
    expect(gateway.status()).toMatchObject({ ready: false, clusters: [{ live: false }] });
    letGo(Object.assign(new Error("EIO: write"), { code: "EIO" }));
    await expect(done(pushed.promise)).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(gateway.status()).toMatchObject({ ready: false, clusters: [{ live: false }] });
  });

  test("is not what another delta of the same generation is read against", async () => {
    const { gateway, begin, patch, letGo, done, west } = await onHangingDisk();
    const held = gateway.held("west", west.generation);
    expect(held.has("exports", "shop/web")).toBe(true);
    const pushed = await begin(patch(UNREADY));
    expect(() => held.entry("exports", "shop/web")).toThrow(GenerationMismatch);
    letGo(new Error("closed"));
    await expect(done(pushed.promise)).rejects.toThrow("closed");
    expect(held.entry("exports", "shop/web")).toEqual(headlessExport(2));
  });
});

const RANKED: readonly (readonly [string, SnapshotPatch])[] = [
  ["an export that goes", { exports: { "shop/web": null } }],
  ["an export that comes", { exports: { "shop/new": headlessExport(1) as never } }],
  ["another creation time", { exports: { "shop/web": { exportedAt: "2023-01-01T00:00:00Z" } } }],
  ["a namespace that goes", { namespaces: { shop: null } }],
  ["another topology", { ...UNREADY, topology: { region: "eu" } }],
  [
    "more than 64 entries",
    {
      ...UNREADY,
      pods: Object.fromEntries(Array.from({ length: 64 }, (_, pod) => [`shop/10-1-0-${pod}`, {}])) as never,
    },
  ],
];

test.each(RANKED)("%s is answered when it is stored, not before", async (_, change) => {
  const { gateway, addresses, begin, patch, letGo, done } = await onHangingDisk();
  const pushed = await begin(patch(change));
  expect([pushed.isSettled, addresses()]).toEqual([false, BEFORE]);
  expect(heldOf(gateway, "west")).toEqual(shopSnapshot("west"));
  letGo();
  await done(pushed.promise);
  expect(heldOf(gateway, "west")).not.toEqual(shopSnapshot("west"));
});
