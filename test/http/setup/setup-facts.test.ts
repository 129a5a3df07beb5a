import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CLIENT_GROUPS } from "../../../src/http/pages/setup.ts";
import { readSetupFacts, SetupError, type SetupRequest } from "../../../src/http/setup/facts.ts";
import { facts } from "./facts.ts";

const clients = CLIENT_GROUPS.flatMap((group) => group.clients);
const filesOf = async (of: ReturnType<typeof facts>) =>
  Promise.all(clients.flatMap(({ files }) => files.map((make) => make(of))));

describe("the facts", () => {
  it.each([
    ["https://doh.example.org", "https://doh.example.org", "doh.example.org", 443],
    ["https://doh.example.org:443/", "https://doh.example.org", "doh.example.org", 443],
    ["https://DOH.example.org:8443/setup?x", "https://doh.example.org:8443", "doh.example.org", 8443],
    ["https://doh.example.org.", "https://doh.example.org", "doh.example.org", 443],
    ["https://192.0.2.1:8443", "https://192.0.2.1:8443", "192.0.2.1", 8443],
    ["https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443", "2001:db8::1", 8443],
    ["https://localhost:8443", "https://localhost:8443", "localhost", 8443],
  ])("%s has the origin %s", (url, origin, host, port) => {
    expect(facts({ url })).toMatchObject({ origin, host, port, resource: `${origin}/dns-query` });
  });

  it.each([
    ["http, which DNS over HTTPS cannot use", { url: "http://doh.example.org" }, /publicUrl/],
    ["no URL", { url: "doh.example.org" }, /publicUrl/],
    ["credentials", { url: "https://user:secret@doh.example.org" }, /password/],
    ["a host with characters that files cannot contain", { url: "https://a'b.example" }, /host/],
    ["a zone with a line break", { zone: "a\nb.test" }, /zone/],
    ["a zone with a quote", { zone: 'a".test' }, /zone/],
    ["a zone with an escape", { zone: "a\\034.test" }, /zone/],
    ["the root", { zone: "." }, /zone/],
    ["an example with a space", { example: { name: "a b.test", type: "A" } }, /example/],
    ["an example with an invalid type", { example: { name: "a.test", type: "A; rm" } }, /type/],
  ] as const)("reject %s", (_, changes, message) => {
    expect(() => facts(changes as Partial<SetupRequest>)).toThrow(SetupError);
    expect(() => facts(changes as Partial<SetupRequest>)).toThrow(message);
  });

  it("have the addresses of a host that is an address, and of localhost", () => {
    expect(facts({ url: "https://[2001:db8::1]", addresses: [] }).addresses).toEqual(["2001:db8::1"]);
    expect(facts({ url: "https://localhost:8443", addresses: [] }).addresses).toEqual(["127.0.0.1", "::1"]);
  });
});

// Mostly names, so that many are valid.
const hostile = fc.oneof(
  { arbitrary: fc.domain(), weight: 8 },
  { arbitrary: fc.string({ unit: "binary", maxLength: 60 }), weight: 1 },
  { arbitrary: fc.stringMatching(/^[-a-z0-9._'"`$;&|<>(){}[\]\\/\n\r #%@:]{1,40}$/), weight: 1 },
  { arbitrary: fc.webUrl(), weight: 1 },
);

describe("untrusted text cannot add to a file", () => {
  it("any host, zone and example is either rejected or appears only in its place", async () => {
    const lines = (await filesOf(facts())).map(({ text }) => text.split("\n").length);
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (host, zone, name) => {
        let asked: ReturnType<typeof facts>;
        try {
          asked = readSetupFacts({
            url: `https://${host}`,
            zone,
            example: { name, type: "A" },
            addresses: ["192.0.2.1"],
            dns: { address: undefined, port: 53 },
            dot: { address: undefined, port: 853 },
          });
        } catch (error) {
          expect(error).toBeInstanceOf(SetupError);
          return;
        }
        for (const text of [asked.zone, asked.host, asked.example.name])
          expect(text).toMatch(/^[-a-z0-9_.:]+$/);
        const files = await filesOf(asked);
        for (const [index, file] of files.entries()) {
          expect(file.fileName).toMatch(/^[-\w.]+$/);
          expect(file.text).toMatch(/^[\n\x20-\x7e]+$/);
          // A host that is an address, or a zone in .test, changes single lines on purpose.
          expect(Math.abs(file.text.split("\n").length - lines[index]!)).toBeLessThanOrEqual(2);
        }
      }),
      { numRuns: 500 },
    );
  });
});
