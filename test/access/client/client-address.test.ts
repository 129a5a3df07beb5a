import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createClientAddress, type ProxySettings } from "../../../src/access/client.ts";
import { FetchRequest } from "../../../src/http/messages/message.ts";

const settings: ProxySettings = {
  trustedProxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"],
  hops: 1,
  header: "x-forwarded-for",
};

function addressOf(
  socket: string | undefined,
  headers: Record<string, string> | [string, string][],
  changes: Partial<ProxySettings> = {},
) {
  const request = new Request("https://doh.example/dns-query", { headers });
  const sent = new FetchRequest(request, { address: socket });
  return createClientAddress({ ...settings, ...changes })(sent);
}

describe("the client's real address", () => {
  const forged = { "x-forwarded-for": "203.0.113.1" };
  it.each<[string, string | undefined, Record<string, string>, Partial<ProxySettings>, string | undefined]>([
    [
      "is the socket's where there are no proxies",
      "198.51.100.9",
      forged,
      { trustedProxies: [] },
      "198.51.100.9",
    ],
    ["is the one that a proxy reports", "10.0.0.1", forged, {}, "203.0.113.1"],
    [
      "is the one that a proxy reports, over IPv6",
      "2001:db8:1::7",
      { "x-forwarded-for": "2001:db8:f::1" },
      {},
      "2001:db8:f::1",
    ],
    ["is a proxy's own if it reports none", "10.0.0.1", {}, {}, "10.0.0.1"],
    [
      "is nothing that a client wrote into a quoted string (RFC 7239 section 4)",
      "10.0.0.1",
      { forwarded: 'for=203.0.113.1;host="a,for=10.0.0.9;\\",for=10.0.0.8";proto=https' },
      { header: "forwarded" },
      "203.0.113.1",
    ],
    [
      "is believed no further than the hops",
      "10.0.0.1",
      { "x-forwarded-for": "203.0.113.1, 10.0.0.2" },
      {},
      "10.0.0.2",
    ],
    [
      "is that of a client which goes round the first of two proxies",
      "10.0.0.1",
      { "x-forwarded-for": "203.0.113.1, 198.51.100.9" },
      { hops: 2 },
      "198.51.100.9",
    ],
    [
      "is read from Forwarded (RFC 7239)",
      "10.0.0.1",
      { forwarded: 'for=127.0.0.1, for="[2001:db8::17]:4711";proto=https' },
      { header: "Forwarded" },
      "2001:db8::17",
    ],
    ["is not read from another field", "10.0.0.1", { forwarded: "for=203.0.113.1" }, {}, "10.0.0.1"],
    ["may be hidden", "10.0.0.1", { forwarded: "for=_hidden" }, { header: "forwarded" }, "10.0.0.1"],
    [
      "is not read from an element with two addresses",
      "10.0.0.1",
      { forwarded: "for=1.2.3.4;for=5.6.7.8" },
      { header: "forwarded" },
      "10.0.0.1",
    ],
    [
      "is read from a field of its own",
      "192.0.2.7",
      { "x-real-ip": "203.0.113.1" },
      { header: "X-Real-IP" },
      "203.0.113.1",
    ],
    [
      "is not read from such a field that was sent twice",
      "192.0.2.7",
      { "x-real-ip": "127.0.0.1, 203.0.113.1" },
      { header: "x-real-ip" },
      "192.0.2.7",
    ],
    ["is not known where the host knows none", undefined, forged, {}, undefined],
  ])("%s", (_, socket, headers, changes, expected) => {
    expect(addressOf(socket, headers, changes)).toBe(expected);
  });

  it("rejects an invalid range", () => {
    expect(() => addressOf("10.0.0.1", {}, { trustedProxies: ["10.0.0.1/8"] })).toThrow(RangeError);
  });
});

/** What a client may write into such a field. */
const entry = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.constantFrom("10.0.0.1", "10.9.9.9", "192.0.2.7", "127.0.0.1", "unknown", "", "::1", "for=10.0.0.1"),
  fc.string({ unit: fc.constantFrom(...'0123456789.:,;="[] for'.split("")), maxLength: 30 }),
);
const written = fc.array(entry, { maxLength: 8 }).map((entries) => entries.join(","));
const outside = fc.ipV4().filter((text) => !text.startsWith("10.") && text !== "192.0.2.7");

describe("whatever a client writes", () => {
  it("to the gateway itself, its address is that of its socket", () => {
    fc.assert(
      fc.property(
        outside,
        written,
        written,
        fc.integer({ min: 1, max: 5 }),
        (client, list, forwarded, hops) => {
          for (const header of ["x-forwarded-for", "forwarded", "x-real-ip"]) {
            const headers = { "x-forwarded-for": list, forwarded, "x-real-ip": list };
            expect(addressOf(client, headers, { header, hops })).toBe(client);
          }
        },
      ),
    );
  });

  it("behind one proxy or several in a row, its address is the one that the first of them saw", () => {
    const chain = fc.array(fc.constantFrom("10.0.0.1", "10.2.2.2", "192.0.2.7"), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(outside, written, chain, (client, list, proxies) => {
        // Each proxy appends whom it was asked by.
        const appended = [client, ...proxies.slice(0, -1)];
        const headers = {
          "x-forwarded-for": [list, ...appended].join(", "),
          forwarded: [list, ...appended.map((text) => `for=${text}`)].join(", "),
        };
        for (const header of ["x-forwarded-for", "forwarded"])
          expect(addressOf(proxies.at(-1), headers, { header, hops: proxies.length })).toBe(client);
      }),
    );
  });
});

describe("a field of a proxy holds", () => {
  const list = (value: string) => ["x-forwarded-for", value] as const;
  const forwarded = (value: string) => ["forwarded", value] as const;
  const many = Array.from({ length: 40 }, (_, index) => `10.1.0.${index}`).join(",");

  it.each<[readonly [string, string], string | undefined]>([
    [list("[2001:db8::1]"), "2001:db8::1"],
    [list("[2001:db8::1]:4711"), "2001:db8::1"],
    [list("x[2001:db8::1]"), undefined],
    [list("[2001:db8::1]x"), undefined],
    [list("[2001:db8::1]:4711x"), undefined],
    [list("192.0.2.1:4711"), "192.0.2.1"],
    [list("x192.0.2.1:4711"), undefined],
    [list("192.0.2.1:4711x"), undefined],
    [list("192.0.2.1:123456"), undefined],
    [list(" \t192.0.2.1 "), "192.0.2.1"],
    [forwarded("for=192.0.2.1"), "192.0.2.1"],
    [forwarded("  for  =  192.0.2.1  "), "192.0.2.1"],
    [forwarded("FOR=192.0.2.1 ; proto=https"), "192.0.2.1"],
    [forwarded("xfor=192.0.2.1"), undefined],
    [forwarded("forx=192.0.2.1"), undefined],
    [forwarded('for="192.0.2.1"'), "192.0.2.1"],
    [forwarded('for="192.0.2.1'), undefined],
    [forwarded('for="192.0.2.1"x'), undefined],
  ])("%j: %s", ([header, value], expected) => {
    expect(addressOf("10.0.0.1", { [header]: value }, { header })).toBe(expected ?? "10.0.0.1");
  });

  it.each(["x-forwarded-for", "forwarded"])("at most 32 entries that count, from the right: %s", (header) => {
    const value = header === "forwarded" ? many.replaceAll("10.", "for=10.") : many;
    expect(addressOf("10.0.0.1", { [header]: value }, { header, hops: 33 })).toBe("10.1.0.8");
  });
});

it("a request without a client has no address", () => {
  const request = { client: undefined, header: () => "203.0.113.1" };
  expect(createClientAddress(settings)(request)).toBeUndefined();
  expect(createClientAddress({ ...settings, trustedProxies: [] })(request)).toBeUndefined();
});
