import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatName } from "../../src/dns/name.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { notReady, type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import { alias, clusterLocalTable, local } from "../conformance/cases/cluster-local.ts";
import { compileTable } from "../conformance/compiled-table.ts";
import { snapshot } from "../merge/fixtures.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { ask, compileWorld, encodeQuery, leasesUntil } from "./ask.ts";
import { extendedErrors, withoutExtendedErrors } from "./extended-errors.ts";
import { twoClusters } from "./world.ts";

describe("RFC 8020: an ancestor of a name in the zones is not denied", () => {
  const zones = ["clusterset.local", "eu.west.clusterset.local", "clusterset.example.org"];
  const world = {
    ...compileWorld(twoClusters(), {
      zones,
      federations: [{ name: "fed", zone: "a.federation", domain: "fed.example.net" }],
    }),
    outside: "nxdomain",
  } as const;
  const designated = { name: "dns.gateway.example", addresses: [], endpoints: [] };

  it.each([
    ".",
    "local",
    "LOCAL",
    "org",
    "example.org",
    "net",
    "example.net",
    "federation",
    "arpa",
    "in-addr.arpa",
    "10.in-addr.arpa",
    "ip6.arpa",
    "d.f.ip6.arpa",
  ])("%s has no data, and the gateway does not claim to own it", (name) => {
    for (const type of ["A", "NS", "ANY"]) {
      const answer = ask(world, name, type);
      expect(answer).toMatchObject({ rcode: "NOERROR", authoritative: false, answer: [], authority: [] });
    }
    expect(extendedErrors(resolve(encodeQuery(name, "A"), world)!.bytes)).toEqual([20]);
  });

  it("a name between two of our zones is not denied", () => {
    const between = { rcode: "NOERROR", authoritative: true };
    expect(ask(world, "west.clusterset.local", "A")).toMatchObject(between);
    expect(ask(world, "east.clusterset.local", "A")).toMatchObject({ rcode: "NXDOMAIN" });
  });

  it("a name below one zone and above a zone of another view is denied", () => {
    const east = snapshot("east", {
      clusterZone: { name: "east.inner.clusterset.local", pods: "disabled" },
    });
    const nested = compileWorld([east, snapshot("west")]);
    const rcode = (view: string | undefined) => ask({ ...nested, view }, "inner.clusterset.local", "A").rcode;
    expect([rcode("east"), rcode("west"), rcode(undefined)]).toEqual(["NOERROR", "NXDOMAIN", "NXDOMAIN"]);
  });

  it("an ancestor of the designated resolver's name is not denied", () => {
    for (const name of ["gateway.example", "dns.gateway.example"]) {
      expect(ask({ ...world, designated }, name, "A")).toMatchObject({ rcode: "NOERROR", answer: [] });
      expect(ask(world, name, "A").rcode).toBe("NXDOMAIN");
    }
  });

  it.each(["locals", "www.example.org", "300.10.in-addr.arpa", "x.ip6.arpa", "4.3.2.1.in-addr.arpa"])(
    "%s is denied",
    (name) => expect(ask(world, name, "A").rcode).toBe("NXDOMAIN"),
  );
});

describe("an answer says why its name is out of zone", () => {
  const world = compileTable(clusterLocalTable);
  const CLUSTER_IP = "1.0.3.10.in-addr.arpa";

  it.each([
    ["www.example.com", "east", "no-zone"],
    ["local", "east", "no-zone"],
    ["xcluster.local", "east", "no-zone"],
    ["cluster.local", undefined, "no-zone"],
    ["kubernetes.default.svc.cluster.local", undefined, "no-zone"],
    ["kubernetes.default.svc.CLUSTER.local", "nobody", "no-zone"],
    ["kubernetes.default.svc.cluster.local", "east", undefined],
    ["nothing.svc.cluster.local", "east", undefined],
    ["nothing.clusterset.local", undefined, undefined],
    [CLUSTER_IP, "east", undefined],
    // The address of a cluster's own Service, in another view.
    [CLUSTER_IP, undefined, "no-zone"],
    ["9.9.9.10.in-addr.arpa", "east", "no-zone"],
  ])("%s in the view %s: %s", (name, view, expected) => {
    for (const outside of ["refuse", "nxdomain"] as const)
      expect(resolve(encodeQuery(name, "PTR"), { ...world, view, outside })?.outOfZone).toBe(expected);
  });
});

describe("a CNAME chain (RFC 1034 section 4.3.2)", () => {
  const name = (service: string, zone = "east.local") => `${service}.default.svc.${zone}`;
  const chain = Array.from({ length: 12 }, (_, index) => [`default/c${index}`, alias(name(`c${index + 1}`))]);
  const world = compileWorld(
    [
      snapshot("east", {
        namespaces: { default: {} },
        clusterZone: { name: "east.local", pods: "disabled" },
        services: {
          "default/a": alias(name("b")),
          "default/b": alias(name("c")),
          "default/c": alias(name("a")),
          "default/into": alias(name("a")),
          "default/abroad": alias(name("web", "west.local")),
          "default/away": alias("WWW.Example.com"),
          "default/empty": alias("svc.east.local"),
          ...Object.fromEntries(chain),
        },
      }),
      snapshot("west", {
        namespaces: { default: {} },
        clusterZone: { name: "west.local", pods: "disabled" },
        services: { "default/web": local({ clusterIPs: ["10.4.0.1"] }) },
      }),
    ],
    {},
    { view: "east" },
  );
  const targetsOf = (service: string, type = "A") =>
    ask(world, name(service), type).answer.map((record) => record.split(" ").at(-1)!.split(".")[0]);

  it("that loops has each of its records once", () => {
    expect(targetsOf("a")).toEqual(["b", "c", "a"]);
    expect(targetsOf("b", "TXT")).toEqual(["c", "a", "b"]);
    expect(targetsOf("into")).toEqual(["a", "b", "c", "a"]);
  });

  it("ends after eight records", () => {
    expect(targetsOf("c0")).toEqual(["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"]);
    expect(ask(world, name("c0"), "A")).toMatchObject({ rcode: "NOERROR", authority: [] });
  });

  it.each([
    ["away", ["www"], "www.example.com."],
    // A zone of another view.
    ["abroad", ["web"], name("web", "west.local.")],
    ["empty", ["svc"], undefined],
    ["a", ["b", "c", "a"], undefined],
  ])(
    "of %s has the targets %j, of which the one out of zone is %s, in lower case",
    (service, targets, expected) => {
      expect(targetsOf(service).map((target) => target!.toLowerCase())).toEqual(targets);
      const { cnameTarget } = resolve(encodeQuery(name(service), "A"), world)!;
      expect(cnameTarget && formatName(cnameTarget)).toBe(expected);
    },
  );

  it("to a name without records is NODATA for every type (RFC 2308 section 2.2)", () => {
    for (const type of ["A", "TXT"])
      expect(ask(world, name("empty"), type)).toMatchObject({
        rcode: "NOERROR",
        answer: [`${name("empty")} 5 CNAME svc.east.local`],
        authority: [expect.stringContaining("east.local 5 SOA")],
      });
    expect(ask(world, "svc.east.local", "ANY")).toMatchObject({
      answer: [],
      authority: [expect.stringContaining("SOA")],
    });
  });
});

it("a pod's name where all such names exist is as fresh as its TTL, and no fresher than the cluster's lease", () => {
  const POD = "1-2-3-4.default.pod.cluster.local";
  const world = { ...compileTable(clusterLocalTable), view: "east" };
  expect(resolve(encodeQuery(POD, "A"), world)).toMatchObject({ outcome: "answer", freshness: 5 });
  const leases = leasesUntil((clusterId) => (clusterId === "east" ? 2500 : Number.POSITIVE_INFINITY));
  expect(resolve(encodeQuery(POD, "A"), { ...world, leases })!.freshness).toBe(2);
  expect(ask({ ...world, leases }, POD, "A").answer).toEqual([`${POD} 2 A 1.2.3.4`]);
});

describe("outcomes", () => {
  const ZONE = "clusterset.local";
  const WEB = `web.shop.svc.${ZONE}`;
  /** TTLs differ, so that each answer shows which one it has. */
  const world = compileWorld(twoClusters(), { ttl: 40, negativeTtl: 7 });
  const designated = { name: "dns.example.org", addresses: [], endpoints: [] };

  const changed = (query: Uint8Array, at: number, byte: number) =>
    query.map((old, index) => (index === at ? byte : old));
  const last = (query: Uint8Array, byte: number) => changed(query, query.length - 1, byte);

  const plain = encodeQuery(WEB, "A", false);
  const withOpt = encodeQuery(WEB, "A");

  function outcomeOf(query: Uint8Array, context: Partial<ResolveContext> = {}) {
    const { outcome, freshness, outOfZone, isAncestor } = resolve(query, { ...world, ...context })!;
    return [outcome, freshness, ...(outOfZone ? [outOfZone] : []), ...(isAncestor ? ["ancestor"] : [])];
  }

  describe("the outcome of a query, and how long caches keep its answer (RFC 8484 section 5.1)", () => {
    it.each([
      [WEB, "A", ["answer", 40]],
      [WEB, "TXT", ["nodata", 7]],
      [WEB, "ANY", ["answer", 7]],
      [`shop.svc.${ZONE}`, "A", ["nodata", 7]],
      [`_pg._tcp.db.shop.svc.${ZONE}`, "SRV", ["answer", 40]],
      [`nothing.shop.svc.${ZONE}`, "A", ["nxdomain", 7]],
      [ZONE, "SOA", ["answer", 7]],
      [ZONE, "NS", ["answer", 7]],
      [ZONE, "ANY", ["answer", 7]],
      [ZONE, "A", ["nodata", 7]],
      ["1.0.1.10.in-addr.arpa", "PTR", ["answer", 40]],
      ["1.0.1.10.in-addr.arpa", "SOA", ["answer", 7]],
      ["1.0.1.10.in-addr.arpa", "ANY", ["answer", 7]],
      ["1.0.1.10.in-addr.arpa", "A", ["nodata", 7]],
      [ZONE, "AXFR", ["refused", 0]],
      [ZONE, "IXFR", ["refused", 0]],
      [WEB, "OPT", ["formerr", 0]],
      ["www.example.com", "A", ["refused", 0, "no-zone"]],
      ["local", "A", ["refused", 0, "no-zone", "ancestor"]],
      ["_dns.resolver.arpa", "A", ["nodata", 300]],
      ["resolver.arpa", "SOA", ["answer", 300]],
    ])("%s %s", (name, type, expected) => {
      for (const edns of [false, true]) expect(outcomeOf(encodeQuery(name, type, edns))).toEqual(expected);
    });

    it.each([
      ["www.example.com", ["nxdomain", 0, "no-zone"]],
      ["local", ["nodata", 0, "no-zone", "ancestor"]],
      ["9.9.9.10.in-addr.arpa", ["nxdomain", 0, "no-zone"]],
    ])("%s with NXDOMAIN out of zone", (name, expected) => {
      expect(outcomeOf(encodeQuery(name, "A"), { outside: "nxdomain" })).toEqual(expected);
    });

    it.each([
      [["formerr", 0], changed(plain, 5, 2)],
      [["notimp", 0], changed(plain, 2, 0x20)],
      [["refused", 0], last(plain, 3)],
      [["badvers", 0], changed(withOpt, withOpt.length - 5, 1)],
    ])(
      "of a query that is malformed, has another opcode, class or version of EDNS: %j",
      (expected, query) => {
        expect(outcomeOf(query)).toEqual(expected);
      },
    );

    it.each([
      [["servfail", 0, "unknown"], plain],
      [["formerr", 0, undefined], changed(plain, 5, 2)],
      [["notimp", 0, undefined], changed(plain, 2, 0x20)],
      [["badvers", 0, undefined], changed(withOpt, withOpt.length - 5, 1)],
      [["refused", 0, undefined], last(plain, 3)],
      [["refused", 0, undefined], encodeQuery(ZONE, "AXFR")],
      [["nodata", 300, undefined], encodeQuery("_dns.resolver.arpa", "A")],
    ])(
      "before the first push is the same where it does not depend on data, else SERVFAIL: %j",
      (expected, query) => {
        const early = notReady(query, { designated })!;
        expect([early.outcome, early.freshness, early.outOfZone]).toEqual(expected);
        const later = resolve(query, { ...world, designated })!;
        if (early.outcome !== "servfail") expect(early.bytes).toEqual(later.bytes);
      },
    );
  });
});

describe("stale answers", () => {
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
      ["NODATA", stale, `web.shop.svc.${ZONE}`, "TXT", [3]],
      ["the apex", stale, ZONE, "SOA", [3]],
      ["NXDOMAIN", stale, `new.shop.svc.${ZONE}`, "A", [19]],
      ["a reverse name", stale, "1.0.1.10.in-addr.arpa", "PTR", [3]],
      ["a reverse name's SOA", stale, "1.0.1.10.in-addr.arpa", "SOA", [3]],
      ["an address that a newer generation may have", stale, "9.9.1.10.in-addr.arpa", "PTR", [20, 3]],
      ["the same with NXDOMAIN out of zone", outside, "9.9.1.10.in-addr.arpa", "PTR", [20, 19]],
      ["AXFR, which does not depend on the generation", stale, ZONE, "AXFR", [21]],
    ])("%s: the code is right", (_, context, name, type, codes) => {
      expect(extendedErrors(asked(context, name, type).bytes)).toEqual(codes);
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

  it("stale answers differ from fresh ones only in that error, for any query", () => {
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
            expect(withoutExtendedErrors(answer.bytes)).toEqual(resolve(query, context)!.bytes);
            if (edns) expect(extendedErrors(answer.bytes)).toHaveLength(1);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
