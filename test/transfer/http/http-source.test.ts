import { describe, expect, it, vi } from "vitest";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";
import { openPair } from "../pair.ts";

const MOST = 16 * 1024 * 1024;
const { held, push } = await openPair();
await push("west", 1);
const state = held.primary.of("")!.state();
const { status } = state;

/** A source whose primary answers every request alike. */
function sourceOf(
  answer: () => Response | Promise<Response>,
  more: { token?: string; scope?: Visibility } = {},
) {
  const asked: { url: string; request: RequestInit }[] = [];
  const source = new HttpTransferSource({
    gateway: "https://doh.example.org:8443/behind/",
    clock: () => 500_000,
    fetch: async (url, request) => {
      asked.push({ url, request });
      return answer();
    },
    ...more,
  });
  return { source, asked };
}

const page = (status: number, body: string | null) =>
  new Response(body, { status, headers: { location: "https://evil.example" } });

describe("a state", () => {
  it("is requested below the gateway's path, with the token, and never elsewhere", async () => {
    const { source, asked } = sourceOf(() => Response.json(state), { token: "secret" });
    const { signal } = new AbortController();
    await source.state(1000, signal);
    const headers = {
      authorization: "Bearer secret",
      accept: "application/json",
      "accept-encoding": "identity",
    };
    const url = "https://doh.example.org:8443/behind/api/v1/transfer/state";
    expect(asked).toEqual([{ url, request: { redirect: "manual", signal, headers } }]);
  });

  it.each([
    ["no JSON", () => new Response("<html>"), /without JSON: is it a clusterset-doh gateway/],
    ["no state", () => Response.json({}), /state cannot be read: at: /],
    [
      "a cluster that is none",
      () => Response.json({ ...state, status: { ...status, clusters: [{}] } }),
      /status\.clusters\.0\.clusterId/,
    ],
    [
      "a refusal",
      () => page(401, '{"code":"UNKNOWN_TOKEN","message":"not known"}'),
      /answered 401: not known/,
    ],
    ["a proxy's error", () => page(502, "<h1>Bad gateway</h1>"), /answered 502: <h1>Bad gateway/],
    ["an error of another form", () => page(500, '{"error":"no"}'), /answered 500: {"error":"no"}$/],
    ["a long error page", () => page(503, `\n ${"x".repeat(300)}`), /answered 503: x{200}$/],
    ["no object", () => Response.json(null), /state cannot be read: the body: /],
    ["a redirect", () => page(302, null), /answered 302: without a word/],
    ["far too much", () => new Response(new Uint8Array(9 * 1024 * 1024)), /the state may have 8388608 bytes/],
    ["no connection", () => Promise.reject(new TypeError("fetch failed")), /fetch failed/],
  ])("that is none is an error: %s", async (_, answer, message) => {
    await expect(sourceOf(answer).source.state(0)).rejects.toThrow(message);
  });

  it("no error contains the token", async () => {
    for (const status of [401, 500]) {
      const { source } = sourceOf(() => new Response("no", { status }), { token: "secret" });
      const error: Error = await source.state(0).then(
        () => new Error("taken"),
        (reason) => reason,
      );
      expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain("secret");
    }
  });
});

describe("a part", () => {
  const bytes = Uint8Array.of(1, 2, 3, 4, 5);
  const sent = (length: number | undefined, body: Uint8Array<ArrayBuffer> | ReadableStream = bytes) =>
    new Response(body, length === undefined ? {} : { headers: { "content-length": String(length) } });

  it.each([
    ["too large by its length, unread", () => sent(MOST + 1), /16777216 bytes and has 16777217 bytes/],
    [
      "too large",
      () => sent(undefined, ReadableStream.from([new Uint8Array(MOST), bytes])),
      /bytes and has more/,
    ],
    ["cut off", () => sent(9), /ended after 5 of 9 bytes/],
  ])("that is %s is an error", async (_, answer, message) => {
    await expect(sourceOf(answer).source.part("key?")).rejects.toThrow(message);
  });
});

describe("where the primary is", () => {
  it.each(["doh.example.org", "ftp://doh.example.org", "", "https://"])("%j is no URL of one", (gateway) => {
    expect(() => new HttpTransferSource({ gateway })).toThrow(/must be an https URL/);
  });

  it.each([
    ["https://doh.example.org", "https://doh.example.org/api/v1/transfer/state"],
    ["https://doh.example.org/", "https://doh.example.org/api/v1/transfer/state"],
    ["http://127.0.0.1:8053/a/b///", "http://127.0.0.1:8053/a/b/api/v1/transfer/state"],
  ])("%s: its state is at %s", async (gateway, url) => {
    const fetch = vi.fn(async (_: string) => Response.json(state));
    await new HttpTransferSource({ gateway, fetch }).state(0);
    expect(fetch.mock.calls.map(([asked]) => asked)).toEqual([url]);
  });
});
