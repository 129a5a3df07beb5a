import { describe, expect, it } from "vitest";
import { createFetchUpstream } from "../../../src/http/doh/fetch-upstream.ts";
import { addressOf, decoded, queryFor } from "../../forward/fake-upstreams.ts";

const DNS = "application/dns-message";
const URL_ = new URL("https://dns.example.net/dns-query?profile=1");
const QUERY = queryFor("www.example.com", { id: 0 });

const upstream = (respond: (url: string, request: RequestInit) => Promise<Response>) =>
  createFetchUpstream("one", URL_, respond);
const body = (bytes: Uint8Array, headers: Record<string, string> = { "content-type": DNS }, status = 200) =>
  new Response(new Uint8Array(bytes), { status, headers });

describe("DNS over HTTPS by fetch (RFC 8484 section 4.1)", () => {
  it("posts the query unchanged, and follows no redirect", async () => {
    const signal = new AbortController().signal;
    const sent: [string, RequestInit][] = [];
    const one = upstream(async (url, request) => {
      sent.push([url, request]);
      return body(await addressOf("192.0.2.1")(QUERY, signal), { "content-type": `${DNS}; charset=binary` });
    });
    expect(decoded(await one.exchange(QUERY, signal)).answers).toMatchObject([{ data: "192.0.2.1" }]);
    expect(sent).toEqual([
      [
        "https://dns.example.net/dns-query?profile=1",
        {
          method: "POST",
          headers: { "content-type": DNS, accept: DNS },
          body: QUERY,
          redirect: "manual",
          signal,
        },
      ],
    ]);
  });

  it.each([
    ["another status", () => body(QUERY, { "content-type": DNS }, 503), "HTTP 503"],
    [
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example/" } }),
      "HTTP 302",
    ],
    ["another type", () => body(QUERY, { "content-type": "text/html" }), "HTTP 200 with text/html"],
    ["no type", () => new Response(null), "HTTP 200 with "],
    ["more than a DNS message", () => body(new Uint8Array(65_536)), "longer than a DNS message"],
  ])("rejects an answer with %s", async (_, respond, message) => {
    await expect(
      upstream(async () => respond()).exchange(QUERY, new AbortController().signal),
    ).rejects.toThrow(message);
  });

  it("subtracts the Age of the response from TTLs (RFC 8484 section 5.1)", async () => {
    const signal = new AbortController().signal;
    const one = upstream(async () =>
      body(await addressOf("192.0.2.1")(QUERY, signal), { "content-type": DNS, age: "12" }),
    );
    expect(decoded(await one.exchange(QUERY, signal)).answers).toMatchObject([{ ttl: 18 }]);
  });

  it("accepts the longest answer", async () => {
    const one = upstream(async () => body(new Uint8Array(65_535)));
    expect(await one.exchange(QUERY, new AbortController().signal)).toHaveLength(65_535);
  });
});
