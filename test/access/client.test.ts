import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClientLocation,
  createClientAddress,
  createLocationHeaders,
  type ProxySettings,
} from "../../src/access/client.ts";
import { FetchRequest } from "../../src/http/messages/message.ts";

const settings: ProxySettings = {
  trustedProxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"],
  hops: 1,
  header: "x-forwarded-for",
};

function addressOf(
  socket: string | undefined,
  headers: Record<string, string>,
  changes: Partial<ProxySettings> = {},
) {
  const request = new Request("https://doh.example/dns-query", { headers });
  const sent = new FetchRequest(request, { address: socket });
  return createClientAddress({ ...settings, ...changes })(sent);
}

const via = (list: string) => ({ "x-forwarded-for": list });
const FORWARDED = { header: "Forwarded" };
const OWN = { header: "X-Real-IP" };

describe("the client's real address", () => {
  const PROXY = "10.0.0.1";
  const CLIENT = "203.0.113.1";

  it.each<[string, Record<string, string>, Partial<ProxySettings>, string | undefined, string?]>([
    [
      "is the socket's where there are no proxies",
      via(CLIENT),
      { trustedProxies: [] },
      "192.0.2.7",
      "192.0.2.7",
    ],
    ["is the one that a proxy reports", via(CLIENT), {}, CLIENT],
    ["is a proxy's own if it reports none", {}, {}, PROXY],
    [
      "is that of a client that goes round one of two proxies",
      via(`${CLIENT}, 192.0.3.9`),
      { hops: 2 },
      "192.0.3.9",
    ],
    ["is not read from another field", { forwarded: `for=${CLIENT}` }, {}, PROXY],
    ["is read from a field of its own", { "x-real-ip": CLIENT }, OWN, CLIENT],
    [
      "is not read from such a field that was sent twice",
      { "x-real-ip": `127.0.0.1, ${CLIENT}` },
      OWN,
      PROXY,
    ],
    ["may be hidden", { forwarded: "for=_hidden" }, FORWARDED, PROXY],
    [
      "is not read from an element with two addresses",
      { forwarded: "for=1.2.3.4;for=5.6.7.8" },
      FORWARDED,
      PROXY,
    ],
    [
      "is read from Forwarded (RFC 7239)",
      { forwarded: 'for=127.0.0.1, for="[2001:db8::17]:4711";proto=https' },
      FORWARDED,
      "2001:db8::17",
    ],
    [
      "is nothing that a client wrote into a quoted string (RFC 7239 section 4)",
      { forwarded: `for=${CLIENT};host="a,for=10.0.0.9;\\",for=10.0.0.8";proto=https` },
      FORWARDED,
      CLIENT,
    ],
  ])("%s", (_, headers, changes, expected, socket = PROXY) => {
    expect(addressOf(socket, headers, changes)).toBe(expected);
  });

  it("is not known where the host knows none, and an invalid range is an error", () => {
    expect(addressOf(undefined, via(CLIENT))).toBeUndefined();
    const request = { client: undefined, header: () => CLIENT };
    expect(createClientAddress(settings)(request)).toBeUndefined();
    expect(createClientAddress({ ...settings, trustedProxies: [] })(request)).toBeUndefined();
    expect(() => addressOf(PROXY, {}, { trustedProxies: ["10.0.0.1/8"] })).toThrow(RangeError);
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
    [list("[2001:db8::1]:4711"), "2001:db8::1"],
    [list("[2001:db8::1]x"), undefined],
    [list("[2001:db8::1]:4711x"), undefined],
    [list("192.0.2.1:4711"), "192.0.2.1"],
    [list("192.0.2.1:4711x"), undefined],
    [list("192.0.2.1:123456"), undefined],
    [list(" \t192.0.2.1 "), "192.0.2.1"],
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

describe("a location in header fields of a trusted proxy", () => {
  const fields = { country: "CF-IPCountry", continent: "cf-ipcontinent", regionCode: "cf-region-code" };
  const swiss = { "cf-ipcountry": "CH" };
  const country = { country: "CH" };

  it.each<[string, Record<string, string>, ClientLocation | undefined, number?]>([
    ["has every configured field", { ...swiss, "cf-ipcontinent": "EU" }, { ...country, continent: "EU" }],
    ["has no other field", { ...swiss, "x-vercel-ip-country": "US" }, country],
    ["has none that was sent twice: by the client, and by the proxy", { "cf-ipcountry": "US, CH" }, {}],
    ["has none without a code", { "cf-ipcountry": "Switzerland (CH)" }, {}],
    ["has none that is too long for a code", { "cf-ipcountry": "C".repeat(11) }, {}],
    ["counts through two proxies", { ...swiss, ...via("203.0.113.9, 192.0.2.7") }, country, 2],
    ["does not past the outer proxy", { ...swiss, ...via("203.0.113.9") }, undefined, 2],
    ["does not of who claims to be one", { ...swiss, ...via("192.0.2.7, 203.0.113.9") }, undefined, 2],
  ])("%s", (_, headers, expected, hops = 1) => {
    const request = new Request("https://doh.example/dns-query", { headers });
    const locate = createLocationHeaders({ ...settings, hops, headers: fields });
    expect(locate(new FetchRequest(request, { address: "10.0.0.2" }))).toEqual(expected);
  });
});
