import { describe, expect, it } from "vitest";
import { resolve, resolveOrMiss } from "../../src/resolve/resolve.ts";
import { Page } from "../../src/zone/generation/directory.ts";
import { Generation } from "../../src/zone/generation/generation.ts";
import { compileWorld, decode, encodeQuery } from "./ask.ts";
import { twoClusters } from "./world.ts";

const whole = compileWorld(twoClusters());
const { serial, trunk, names, reverse } = whole.generation;
/** With the segments of no name in memory. */
const generation = new Generation(
  serial,
  trunk,
  Page.load(names.bytes, names.hash, true),
  Page.load(reverse.bytes, reverse.hash, true),
);
const world = { ...whole, generation };

describe("a generation whose segments are not in memory", () => {
  it.each([
    ["a service's name", "web.shop.svc.clusterset.local", "A"],
    ["a name in a namespace that exists, whether it exists or not", "nothing.shop.svc.clusterset.local", "A"],
    ["a reverse name", "1.0.1.10.in-addr.arpa", "PTR"],
  ])("has to load a segment for %s", (_, name, type) => {
    const query = encodeQuery(name, type);
    const answer = resolveOrMiss(query, world);
    expect(answer).toMatchObject({ missing: { kind: "segment" } });
    const { hash } = (answer as { missing: { hash: string } }).missing;
    expect(() => resolve(query, world)).toThrow(`the segment ${hash} is not in memory`);
    expect([...names.segments(), ...reverse.segments()].map((segment) => segment.hash)).toContain(hash);
  });

  it.each([
    ["a namespace", "shop.svc.clusterset.local", "A", "NOERROR"],
    ["a name in a namespace that does not exist", "web.nowhere.svc.clusterset.local", "A", "NXDOMAIN"],
    ["a name below a namespace's depth in another place", "a.b.c.clusterset.local", "A", "NXDOMAIN"],
    ["the apex", "clusterset.local", "SOA", "NOERROR"],
    ["the version", "dns-version.clusterset.local", "TXT", "NOERROR"],
  ])("answers %s at once, as with all segments", (_, name, type, rcode) => {
    const { bytes } = resolve(encodeQuery(name, type), world)!;
    expect(decode(bytes).rcode).toBe(rcode);
    expect(bytes).toEqual(resolve(encodeQuery(name, type), whole)!.bytes);
  });
});
