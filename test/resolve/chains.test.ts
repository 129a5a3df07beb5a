import { describe, expect, it } from "vitest";
import { parseName } from "../../src/dns/name.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { alias, local } from "../conformance/cases/cluster-local.ts";
import { snapshot } from "../merge/fixtures.ts";
import { ask, compileWorld, encodeQuery } from "./ask.ts";

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

describe("a CNAME chain (RFC 1034 section 4.3.2)", () => {
  it("that loops has each of its records once", () => {
    expect(targetsOf("a")).toEqual(["b", "c", "a"]);
    expect(targetsOf("b", "TXT")).toEqual(["c", "a", "b"]);
    expect(targetsOf("into")).toEqual(["a", "b", "c", "a"]);
  });

  it("ends after eight records", () => {
    expect(targetsOf("c0")).toEqual(["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"]);
    expect(ask(world, name("c0"), "A")).toMatchObject({ rcode: "NOERROR", authority: [] });
  });

  it("into a zone of another view ends there, and its target is not asked from upstreams", () => {
    const answer = resolve(encodeQuery(name("abroad"), "A"), world)!;
    expect(ask(world, name("abroad"), "A").answer).toEqual([
      `${name("abroad")} 5 CNAME ${name("web", "west.local")}`,
    ]);
    expect(answer).not.toHaveProperty("cnameTarget");
  });

  it("out of zone has its target as a name in wire format, with letters folded", () => {
    const { cnameTarget } = resolve(encodeQuery(name("away"), "A"), world)!;
    expect([...cnameTarget!]).toEqual([...parseName("www.example.com")]);
  });

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
