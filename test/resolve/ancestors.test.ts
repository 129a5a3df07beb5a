import { describe, expect, it } from "vitest";
import { parseName } from "../../src/dns/name.ts";
import { isAboveReverseNames } from "../../src/dns/reverse.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld, encodeQuery } from "./ask.ts";
import { extendedErrors } from "./extended-errors.ts";
import { twoClusters } from "./world.ts";

const zones = ["clusterset.local", "eu.west.clusterset.local", "clusterset.example.org"];
const world = {
  ...compileWorld(twoClusters(), {
    zones,
    federations: [{ name: "fed", zone: "a.federation", domain: "fed.example.net" }],
  }),
  outside: "nxdomain",
} as const;
const designated = { name: "dns.gateway.example", addresses: [], endpoints: [] };

describe("RFC 8020: an ancestor of a name in the zones is not denied", () => {
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
    "200.10.in-addr.arpa",
    "0.200.10.in-addr.arpa",
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
    expect(ask(world, "west.clusterset.local", "A")).toMatchObject({ rcode: "NOERROR", authoritative: true });
    expect(ask(world, "east.clusterset.local", "A")).toMatchObject({ rcode: "NXDOMAIN" });
  });

  it("a name below one zone and above a zone of another view is denied", () => {
    const east = snapshot("east", { clusterZone: { name: "east.inner.clusterset.local", pods: "disabled" } });
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

  it("they are REFUSED if names out of zone are", () => {
    expect(ask({ ...world, outside: "refuse" }, "local", "A").rcode).toBe("REFUSED");
  });
});

describe("ancestors of reverse names", () => {
  it.each([
    ["arpa", true],
    ["in-addr.arpa", true],
    ["255.in-addr.arpa", true],
    ["3.2.1.in-addr.arpa", true],
    ["4.3.2.1.in-addr.arpa", false],
    ["256.in-addr.arpa", false],
    ["01.in-addr.arpa", false],
    ["ip6.arpa", true],
    [`${"f.".repeat(31)}ip6.arpa`, true],
    [`${"f.".repeat(32)}ip6.arpa`, false],
    ["10.ip6.arpa", false],
    ["g.ip6.arpa", false],
    ["xin-addr.arpa", false],
    ["example", false],
    [".", false],
  ])("%s is one: %s", (name, expected) => {
    const wire = parseName(name);
    expect(isAboveReverseNames(wire, wire.length)).toBe(expected);
  });
});
