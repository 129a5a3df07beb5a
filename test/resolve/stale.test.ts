import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/resolve/answer.ts";
import { type ResolveContext, resolve, resolveStrictly } from "../../src/resolve/resolve.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { extendedErrors, withoutExtendedErrors } from "./extended-errors.ts";
import { twoClusters } from "./world.ts";

const fresh = compileWorld(twoClusters(), { ttl: 300, negativeTtl: 300 });
const stale: ResolveContext = { ...fresh, stale: true };
const ZONE = "clusterset.local";

function asked(context: ResolveContext, name: string, type: string, edns = true): Answer {
  return resolve(encodeQuery(name, type, edns), context)!;
}

describe("answers from a stale generation have an Extended DNS Error (RFC 8914 sections 4.4 and 4.20)", () => {
  const outside: ResolveContext = { ...stale, outside: "nxdomain" };
  it.each([
    ["records", stale, `web.shop.svc.${ZONE}`, "A", [3]],
    ["records with additional ones", stale, `_pg._tcp.db.shop.svc.${ZONE}`, "SRV", [3]],
    ["NODATA", stale, `web.shop.svc.${ZONE}`, "TXT", [3]],
    ["the apex", stale, ZONE, "SOA", [3]],
    ["ANY", stale, `web.shop.svc.${ZONE}`, "ANY", [3]],
    ["NXDOMAIN", stale, `new.shop.svc.${ZONE}`, "A", [19]],
    ["a reverse name", stale, "1.0.1.10.in-addr.arpa", "PTR", [3]],
    ["a reverse name's NODATA", stale, "1.0.1.10.in-addr.arpa", "A", [3]],
    ["a reverse name's SOA", stale, "1.0.1.10.in-addr.arpa", "SOA", [3]],
    ["an address that a newer generation may have", stale, "9.9.1.10.in-addr.arpa", "PTR", [20, 3]],
    ["the same with NXDOMAIN out of zone", outside, "9.9.1.10.in-addr.arpa", "PTR", [20, 19]],
    ["AXFR, which does not depend on the generation", stale, ZONE, "AXFR", [21]],
  ])("%s: the code is right", (_, context, name, type, codes) => {
    expect(extendedErrors(asked(context, name, type).bytes)).toEqual(codes);
  });

  it("not if the query has no OPT record (RFC 6891 section 6.1.1)", () => {
    expect(asked(stale, `web.shop.svc.${ZONE}`, "A", false).bytes).toEqual(
      asked(fresh, `web.shop.svc.${ZONE}`, "A", false).bytes,
    );
  });

  it.each([
    ["records", `web.shop.svc.${ZONE}`, "A"],
    ["NXDOMAIN", `new.shop.svc.${ZONE}`, "A"],
    ["a reverse name", "1.0.1.10.in-addr.arpa", "PTR"],
    ["a reverse name's SOA", "1.0.1.10.in-addr.arpa", "SOA"],
  ])("caches keep a stale answer for a second, a fresh one for its TTL: %s", (_, name, type) => {
    expect(asked(fresh, name, type).freshness).toBe(300);
    for (const edns of [true, false]) expect(asked(stale, name, type, edns).freshness).toBe(1);
  });

  it("caches keep a stale answer no longer than its lease", () => {
    const leases = leasesUntil(() => 0);
    expect(asked({ ...stale, leases }, `web.shop.svc.${ZONE}`, "A").freshness).toBe(0);
  });
});

it("stale answers differ from fresh ones only in that error, for any query and both readers", () => {
  fc.assert(
    fc.property(
      arbitraryWorld,
      fc.constantFrom("A", "AAAA", "SRV", "PTR", "TXT", "ANY"),
      fc.boolean(),
      (world, type, edns) => {
        const context = compileWorld(world);
        const names = world.flatMap(({ exports }) => Object.keys(exports).map((key) => key.split("/")));
        for (const [namespace, service] of [...names, ["shop", "nothing"]]) {
          // A label of 64 bytes would change the meaning of the message.
          if (service!.length > 63) continue;
          const query = encodeQuery(`${service}.${namespace}.svc.${ZONE}`, type, edns);
          const answer = resolve(query, { ...context, stale: true })!;
          expect(answer).toEqual(resolveStrictly(query, { ...context, stale: true }));
          expect(withoutExtendedErrors(answer.bytes)).toEqual(resolve(query, context)!.bytes);
          if (edns) expect(extendedErrors(answer.bytes)).toHaveLength(1);
        }
      },
    ),
    { numRuns: 100 },
  );
});

it("the error fits even if the answer fills the message", () => {
  const members = Array.from({ length: 5000 }, (_, index) => ({
    address: `10.1.${index >> 8}.${index & 255}`,
  }));
  const big = compileWorld([
    snapshot("east", {
      exports: { "shop/big": exported({ headless: true, endpoints: endpoints(...members) }) },
    }),
  ]);
  const { bytes } = asked({ ...big, stale: true }, `big.shop.svc.${ZONE}`, "A");
  expect(bytes.length).toBeLessThanOrEqual(65_535);
  expect(bytes.length).toBeGreaterThan(65_500);
  expect(extendedErrors(bytes)).toEqual([3]);
});
