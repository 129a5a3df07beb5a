import { describe, expect, it } from "vitest";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";

const MOST = 16 * 1024 * 1024;
const HASH = "00112233445566778899aabbccddeeff";
const cluster = {
  clusterId: "west",
  generation: 7,
  pushedAt: 1000,
  renewedAt: 2000,
  expiresAt: 62_000,
  live: true,
  exports: 1,
  imports: 0,
};
const status = { ready: true, stateHash: HASH, compiledBytes: 4, services: 1, clusters: [cluster] };
const state = { at: 500_000, epoch: "", base: [0, 0], recent: [0, 0], changes: [], status };

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

describe("a state", () => {
  it("is requested below the gateway's path, with the token, and never elsewhere", async () => {
    const { source, asked } = sourceOf(() => Response.json(state), { token: "secret" });
    const { signal } = new AbortController();
    await source.state(1000, signal);
    expect(asked).toEqual([
      {
        url: "https://doh.example.org:8443/behind/api/v1/transfer/state",
        request: {
          redirect: "manual",
          signal,
          headers: {
            authorization: "Bearer secret",
            accept: "application/json",
            "accept-encoding": "identity",
          },
        },
      },
    ]);
  });

  it.each([
    ["no JSON", () => new Response("<html>"), /without JSON: is it a clusterset-doh gateway/],
    ["no state", () => Response.json({}), /state cannot be read: at: /],
    ["a position that is none", () => Response.json({ ...state, base: [-1, 0] }), /base\.0/],
    [
      "a lease that is no number",
      () => Response.json({ ...state, status: { ...status, clusters: [{ ...cluster, expiresAt: "soon" }] } }),
      /status\.clusters\.0\.expiresAt/,
    ],
    [
      "a refusal",
      () => Response.json({ code: "UNKNOWN_TOKEN", message: "not known" }, { status: 401 }),
      /answered 401: not known/,
    ],
    [
      "a proxy's error",
      () => new Response("<h1>Bad gateway</h1>", { status: 502 }),
      /answered 502: <h1>Bad gateway/,
    ],
    [
      "an error of another form",
      () => Response.json({ error: "no" }, { status: 500 }),
      /answered 500: {"error":"no"}$/,
    ],
    [
      "a long error page",
      () => new Response(`\n ${"x".repeat(300)}`, { status: 503 }),
      /answered 503: x{200}$/,
    ],
    ["no object", () => Response.json(null), /state cannot be read: the body: /],
    [
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
      /answered 302: without a word/,
    ],
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
  const chunked = (...chunks: Uint8Array[]) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });

  it.each([
    [
      "by its length, unread",
      () => sent(MOST + 1),
      /the part may have 16777216 bytes and has 16777217 bytes/,
    ],
    ["by what comes", () => sent(undefined, chunked(new Uint8Array(MOST), bytes)), /bytes and has more/],
  ])("above the limit is rejected: %s", async (_, answer, message) => {
    await expect(sourceOf(answer).source.part("key?")).rejects.toThrow(message);
  });

  it("that is cut off is an error", async () => {
    await expect(sourceOf(() => sent(9)).source.part("key?")).rejects.toThrow(/ended after 5 of 9 bytes/);
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
    const asked: string[] = [];
    const fetch = async (address: string) => {
      asked.push(address);
      return Response.json(state);
    };
    await new HttpTransferSource({ gateway, fetch }).state(0);
    expect(asked).toEqual([url]);
  });
});
