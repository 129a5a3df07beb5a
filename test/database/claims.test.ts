import fc from "fast-check";
import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import { Writer } from "../../src/database/writer.ts";
import { usableAddress } from "../../src/dns/address.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { claimsOn } from "./claims-on.ts";
import { DRIVERS } from "./databases.ts";
import { NOON, patchLines, push, wholeLines } from "./pushing.ts";

/** So many that an entry with them has several parts. */
const MANY = Array.from({ length: 1500 }, (_, index) => ({ address: `10.9.${index >> 8}.${index & 255}` }));
const ADDRESSES = ["10.0.0.1", "10.0.0.12", "10.9.0.3", "10.9.5.0", "2001:db8::1", "2001:DB8:0::1"];

const state = fc
  .record({
    has: fc.subarray(ADDRESSES),
    twice: fc.subarray(ADDRESSES),
    isLarge: fc.boolean(),
    headless: fc.boolean(),
    unready: fc.boolean(),
    isExported: fc.integer({ max: 4 }).map((one) => one !== 0),
    ips: fc.option(fc.subarray(ADDRESSES)),
    namespace: fc.integer({ max: 4 }).map((one) => one !== 0),
  })
  .map(({ has, twice, isLarge, headless, unready, isExported, ips, namespace }) => {
    const first = endpoints(
      ...(isLarge ? MANY : []),
      ...has.map((address) => ({ address, ready: !unready })),
    );
    const [group] = Object.values(endpoints(...twice.map((address) => ({ address }))));
    const web = exported({ headless, endpoints: { ...first, "other/TCP/1": group! } });
    return snapshot("east", {
      namespaces: namespace ? { shop: {} } : {},
      exports: isExported ? { "shop/web": web } : {},
      imports: ips === null ? {} : { "shop/web": imported({ ips }) },
    });
  });

/** A large export while its cluster has the namespace, or has not, by patches. */
function inNamespace(...has: readonly boolean[]): [ClusterSnapshot, boolean][] {
  const web = exported({ headless: true, endpoints: endpoints(...MANY) });
  return has.map((one) => [
    snapshot("east", { namespaces: one ? { shop: {} } : {}, exports: { "shop/web": web } }),
    true,
  ]);
}

it("claims after any changes are those of the last state pushed alone", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(state, fc.boolean()), { minLength: 2, maxLength: 5 }), (states) => {
      const claims = (pushed: typeof states) => {
        const database = DRIVERS[0]![1]();
        const writer = new Writer(database, () => {});
        let before: (typeof pushed)[0][0] | undefined;
        for (const [next, isPatch] of pushed) {
          const patch = before && isPatch ? diffSnapshots(before, next) : undefined;
          if (patch === undefined) push(writer, "east", "whole", wholeLines(next), { now: NOON, live: true });
          else push(writer, "east", "changes", patchLines("east", patch), { now: NOON, live: true });
          before = next;
        }
        const reader = new Reader(database, () => expect.unreachable());
        const found = [...ADDRESSES, "10.9.0.0", "10.9.4.7"].map((address) =>
          claimsOn(reader, usableAddress(address)!)
            .map(({ name, basis }) => `${basis} ${name}`)
            .sort(),
        );
        expect(reader.isWhole(reader.cluster("east")!)).toBe(true);
        database.close();
        return found;
      };
      expect(claims(states)).toEqual(claims([[states.at(-1)![0], false]]));
    }),
    // A namespace that comes or goes changes no text of the entry, and what all its addresses are reported
    // by.
    { numRuns: 150, examples: [[inNamespace(true, false)], [inNamespace(false, true)]] },
  );
});

it("as many of the services that report an address have a claim as may have one, whichever come and go", () => {
  const names = Array.from({ length: 40 }, (_, index) => `${index % 5 === 0 ? "shop" : "bank"}/web-${index}`);
  const services = fc.oneof(fc.subarray(names), fc.subarray(names, { minLength: 30 }));
  fc.assert(
    fc.property(fc.array(services, { minLength: 2, maxLength: 6 }), (pushed) => {
      const database = DRIVERS[0]![1]();
      const writer = new Writer(database, () => {});
      const reader = new Reader(database, () => expect.unreachable());
      const [address] = ADDRESSES;
      const web = exported({ headless: true, endpoints: endpoints({ address: address! }) });
      let before = snapshot("east");
      push(writer, "east", "whole", wholeLines(before), { now: NOON, live: true });
      for (const has of pushed) {
        const exports = Object.fromEntries(has.map((name) => [name, web]));
        const next = snapshot("east", { namespaces: { shop: {}, bank: {} }, exports });
        const patch = diffSnapshots(before, next);
        if (patch !== undefined)
          push(writer, "east", "changes", patchLines("east", patch), { now: NOON, live: true });
        const found = claimsOn(reader, usableAddress(address!)!).map(({ name }) => name);
        expect([new Set(found).size, has]).toEqual([Math.min(has.length, 32), expect.arrayContaining(found)]);
        expect(reader.isWhole(reader.cluster("east")!)).toBe(true);
        before = next;
      }
      database.close();
    }),
    { numRuns: 30 },
  );
});
