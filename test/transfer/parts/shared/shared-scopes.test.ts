import { decode } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Visibility } from "../../../../src/merge/visibility/visibility.ts";
import type { Answer } from "../../../../src/resolve/answer.ts";
import { putSnapshot } from "../../../gateway/pushes.ts";
import { encodeQuery } from "../../../resolve/ask.ts";
import { extendedErrors } from "../../../resolve/extended-errors.ts";
import { emptySnapshot, headlessExport, shopSnapshot } from "../../../snapshot/worlds.ts";
import { openShared } from "./shared-world.ts";

const ZONE = "svc.clusterset.local";
const WEB = `web.shop.${ZONE}`;
const WEST: Visibility = { clusters: ["west"] };
const AS_WEST: Visibility = { clusters: ["west"], view: "west" };
const STALE = 3;

function services(clusterId: string, endpoints: readonly number[]) {
  const exports = Object.fromEntries(
    endpoints.map((size, index) => [`shop/web-${index}`, headlessExport(size)]),
  );
  return { ...emptySnapshot(clusterId), namespaces: { shop: {} }, exports };
}

describe("what another thread answers", () => {
  it("is what the gateway answers, after any sequence of pushes, departures and time", async () => {
    const step = fc.oneof(
      fc.record({
        push: fc.constantFrom("west", "east"),
        endpoints: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 }),
        leaseSeconds: fc.constantFrom(60, 600),
      }),
      fc.record({ leave: fc.constantFrom("west", "east") }),
      fc.record({ seconds: fc.integer({ min: 1, max: 90 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        const { clock, gateway, publish, done, answers, shared } = await openShared([WEST, AS_WEST]);
        for (const one of steps) {
          if ("push" in one) {
            const { leaseSeconds } = one;
            await done(putSnapshot(gateway, services(one.push, one.endpoints), { leaseSeconds }));
          } else if ("leave" in one) await done(gateway.leave(one.leave));
          else await clock.advance(one.seconds * 1000);
          await clock.advance(10);
          publish();
          for (const scope of [{}, WEST, AS_WEST])
            for (const view of [undefined, "west", "nobody"])
              for (const [name, type] of [
                [`web-1.shop.${ZONE}`, "A"],
                [`web-39.shop.${ZONE}`, "A"],
                ["0.0.0.10.in-addr.arpa", "PTR"],
                ["clusterset.local", "SOA"],
                [`none.${ZONE}`, "A"],
              ] as const) {
                const [expected, answer] = answers(name, type, scope, view);
                expect(answer, `${name} ${type} ${JSON.stringify(scope)} ${view}`).toEqual(expected);
              }
          for (const scope of [{}, WEST, AS_WEST])
            for (const cluster of ["west", "east", "nobody"])
              expect(shared.of(scope).hasCluster(cluster)).toBe(gateway.within(scope).hasCluster(cluster));
        }
      }),
      { numRuns: 30 },
    );
  });

  it("is SERVFAIL before the first update", async () => {
    const { shared, clock } = await openShared();
    const answer = await shared.of({}).answer(encodeQuery(WEB, "A"), undefined, clock.now());
    expect(answer?.outcome).toBe("servfail");
    expect(shared.of({}).status().ready).toBe(false);
  });

  it("is SERVFAIL in a scope that is not published", async () => {
    const { gateway, publish, done, shared, clock } = await openShared([WEST]);
    await done(putSnapshot(gateway, shopSnapshot("west")));
    publish();
    const answer = await shared
      .of({ clusters: ["east"] })
      .answer(encodeQuery(WEB, "A"), undefined, clock.now());
    expect(answer?.outcome).toBe("servfail");
  });

  it("says that it is stale where the thread that compiles was not heard of", async () => {
    const { gateway, publish, done, answers, thread } = await openShared();
    await done(putSnapshot(gateway, shopSnapshot("west")));
    publish();
    thread.isFresh = false;
    expect(extendedErrors(answers(WEB, "A")[1]!.bytes)).toEqual([STALE]);
    thread.isFresh = true;
    expect(extendedErrors(answers(WEB, "A")[1]!.bytes)).toEqual([]);
  });

  it("says that it is stale while a push waits for longer than it may", async () => {
    const { clock, gateway, publish, done, answers } = await openShared();
    await done(putSnapshot(gateway, shopSnapshot("west")));
    publish();
    const settle = gateway.arrived("west");
    await clock.advance(6000);
    expect(publish()?.added).toEqual([]);
    expect(extendedErrors(answers(WEB, "A")[1]!.bytes)).toEqual([STALE]);
    settle(true);
    publish();
    expect(extendedErrors(answers(WEB, "A")[1]!.bytes)).toEqual([]);
  });
});

describe("when a lease has expired", () => {
  /** West has expired in what the thread has; the gateway has not looked at its clock since. */
  const expire = async () => {
    const world = await openShared();
    const { gateway, publish, done, shared, clock } = world;
    await done(putSnapshot(gateway, services("west", [2]), { leaseSeconds: 60 }));
    await done(putSnapshot(gateway, services("east", [1]), { leaseSeconds: 600 }));
    await done(putSnapshot(gateway, services("north", [0, 1]), { leaseSeconds: 600 }));
    publish();
    const { expiresAt } = shared
      .of({})
      .status()
      .clusters.find(({ clusterId }) => clusterId === "west")!;
    const ask = (name: string, now = expiresAt) =>
      shared.of({}).answer(encodeQuery(`${name}.shop.${ZONE}`, "A"), undefined, now);
    /** The gateway takes the cluster out. */
    const takeOut = async () => {
      await clock.advance(expiresAt - clock.now());
      await clock.advance(10);
      publish();
    };
    return { ...world, ask, takeOut, expiresAt };
  };
  const addressesIn = (answer: Answer | undefined) => decode(Buffer.from(answer!.bytes)).answers!.length;

  it("the answers that it changes wait for the state without the cluster", async () => {
    const { ask, takeOut, expiresAt, publish, gateway, done } = await expire();
    expect(addressesIn((await ask("web-0", expiresAt - 1)) as Answer)).toBe(2);
    const waiting = ask("web-0");
    expect(waiting).toBeInstanceOf(Promise);
    // Another change comes first.
    await done(putSnapshot(gateway, services("north", [0, 3]), { leaseSeconds: 600 }));
    expect(publish()).toBeDefined();
    await takeOut();
    expect(addressesIn(await waiting)).toBe(1);
    const after = ask("web-0", expiresAt + 10);
    expect(after).not.toBeInstanceOf(Promise);
    expect(addressesIn(after as Answer)).toBe(1);
  });

  it("other answers do not wait", async () => {
    const { ask } = await expire();
    const other = ask("web-1");
    expect(other).not.toBeInstanceOf(Promise);
    expect((other as Answer).freshness).toBeGreaterThan(0);
  });

  it("no answer waits for long, nor for a thread that stands still", async () => {
    const { ask, thread } = await expire();
    const waiting = ask("web-0");
    thread.patience.resolve();
    const answer = await waiting;
    expect([addressesIn(answer), answer!.freshness]).toEqual([2, 0]);
    expect(ask("web-0")).not.toBeInstanceOf(Promise);

    const still = await expire();
    still.thread.isFresh = false;
    expect(still.ask("web-0")).not.toBeInstanceOf(Promise);
  });
});
