import { describe, expect, it } from "vitest";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";

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
const status = { ready: true, rootHash: HASH, generationBytes: 4, services: 1, clusters: [cluster] };

/** A source whose primary answers every request alike. */
function sourceOf(
  answer: () => Response | Promise<Response>,
  more: { token?: string; partBytes?: number; scope?: Visibility } = {},
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
    const { source, asked } = sourceOf(() => Response.json({ at: 500_000, status }), { token: "secret" });
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
    [
      "a hash with a path in it",
      () => Response.json({ at: 1, status: { ...status, rootHash: "../../x" } }),
      /status\.rootHash/,
    ],
    [
      "a lease that is no number",
      () => Response.json({ at: 1, status: { ...status, clusters: [{ ...cluster, expiresAt: "soon" }] } }),
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

describe.each(["root", "segment"] as const)("a %s", (kind) => {
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

  const before = { hash: "ab".repeat(16), bytes: Uint8Array.from({ length: 40 }, (_, index) => index) };
  const change = (since: string, body: Uint8Array<ArrayBuffer>) => () =>
    new Response(body, { headers: { "clusterset-since": since } });

  it.each([
    ["of a part that the secondary does not have", change("cd".repeat(16), bytes), before],
    ["that nobody asked for", change("cd".repeat(16), bytes), undefined],
    ["that does not fit", change(before.hash, bytes), before],
  ])("is not made of a change %s", async (_, answer, since) => {
    await expect(sourceOf(answer).source[kind](HASH, since)).rejects.toThrow(/change|the part may have/);
  });

  it.each([
    ["by its length, unread", () => sent(6), new RegExp(`the ${kind} may have 4 bytes and has 6 bytes`)],
    [
      "by what comes",
      () => sent(undefined, chunked(bytes.slice(0, 3), bytes.slice(3))),
      /may have 4 bytes and has more/,
    ],
  ])("above the limit is rejected: %s", async (_, answer, message) => {
    await expect(sourceOf(answer, { partBytes: 4 }).source[kind](HASH)).rejects.toThrow(message);
  });

  it("that is cut off is an error", async () => {
    await expect(sourceOf(() => sent(9)).source[kind](HASH)).rejects.toThrow(/ended after 5 of 9 bytes/);
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
      return Response.json({ at: 0, status });
    };
    await new HttpTransferSource({ gateway, fetch }).state(0);
    expect(asked).toEqual([url]);
  });

  it("is connected to by the host's fetch unless another one is given", async () => {
    const source = new HttpTransferSource({ gateway: "http://127.0.0.1:1" });
    await expect(source.state(0)).rejects.toThrow("fetch failed");
  });
});
