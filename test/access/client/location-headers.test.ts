import { describe, expect, it } from "vitest";
import { createLocationHeaders, type LocationHeaders } from "../../../src/access/client.ts";
import { FetchRequest } from "../../../src/http/messages/message.ts";

const settings: LocationHeaders = {
  trustedProxies: ["10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"],
  hops: 1,
  headers: { country: "CF-IPCountry", continent: "cf-ipcontinent", regionCode: "cf-region-code" },
};

/** What is read of a request with these header fields that came from an address. */
function locationFrom(
  clientAddress: string | undefined,
  headers: Record<string, string> | [string, string][],
  changes: Partial<LocationHeaders> = {},
) {
  const request = new Request("https://doh.example/dns-query", { headers });
  return createLocationHeaders({ ...settings, ...changes })(
    new FetchRequest(request, { address: clientAddress }),
  );
}

const swiss = { "cf-ipcountry": "CH" };

describe("header fields of a proxy", () => {
  it.each<[string, string | undefined, object | undefined]>([
    ["a trusted range", "10.1.2.3", { country: "CH" }],
    ["another address: a client that writes the field itself", "203.0.113.9", undefined],
    ["a host without addresses of clients", undefined, undefined],
  ])("count or not: %s", (_, clientAddress, expected) => {
    expect(locationFrom(clientAddress, swiss)).toEqual(expected);
  });

  it.each<[string, Record<string, string> | [string, string][], object]>([
    [
      "every one that is configured",
      { ...swiss, "cf-ipcontinent": "EU", "cf-region-code": "ZH" },
      { country: "CH", continent: "EU", regionCode: "ZH" },
    ],
    [
      "others count for nothing",
      { ...swiss, "x-vercel-ip-country": "US", "cf-ipcity": "Zurich" },
      { country: "CH" },
    ],
    ["none", {}, {}],
    [
      "sent twice: by the client, and appended by the proxy",
      [
        ["cf-ipcountry", "US"],
        ["cf-ipcountry", "CH"],
      ],
      {},
    ],
    ["empty", { "cf-ipcountry": "" }, {}],
    ["no code", { "cf-ipcountry": "Switzerland (CH)" }, {}],
    ["too long for a code", { "cf-ipcountry": "C".repeat(11) }, {}],
  ])("say: %s", (_, headers, expected) => {
    expect(locationFrom("10.1.2.3", headers)).toEqual(expected);
  });

  it.each<[string, string | undefined, string, number, boolean]>([
    ["a request through the outer and the inner proxy", "10.0.0.2", "203.0.113.9, 192.0.2.7", 2, true],
    ["a client that bypasses the outer proxy", "10.0.0.2", "203.0.113.9", 2, false],
    ["a client that claims to be the outer proxy", "10.0.0.2", "192.0.2.7, 203.0.113.9", 2, false],
    ["a client that claims to be both", "203.0.113.9", "192.0.2.7, 10.0.0.2", 2, false],
    ["three in a row, one too few", "10.0.0.2", "192.0.2.7", 3, false],
  ])("through several proxies: %s", (_, clientAddress, forwarded, hops, isBelieved) => {
    expect(locationFrom(clientAddress, { ...swiss, "x-forwarded-for": forwarded }, { hops })).toEqual(
      isBelieved ? { country: "CH" } : undefined,
    );
  });
});
