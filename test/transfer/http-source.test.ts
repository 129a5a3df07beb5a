import { describe, expect, it } from "vitest";
import { HttpTransferSource } from "../../src/transfer/http-source.ts";

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
const status = { ready: true, imageHash: HASH, imageBytes: 4, services: 1, clusters: [cluster] };

/** A source whose primary answers every request alike. */
function sourceOf(
  answer: () => Response | Promise<Response>,
  more: { token?: string; imageBytes?: number; allocate?: (octets: number) => ArrayBuffer } = {},
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
  it("is asked for below the gateway's path, with the token, and never elsewhere", async () => {
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

  it("has a bound of its own where the caller has none", async () => {
    const { source, asked } = sourceOf(() => Response.json({ at: 0, status }));
    await source.state(0);
    expect(asked[0]!.request.signal).toBeInstanceOf(AbortSignal);
  });

  it.each([0, 3_600_000, -3_600_000])(
    "is by this clock, whatever the primary's says: %d ms apart",
    async (apart) => {
      const shifted = {
        ...cluster,
        pushedAt: cluster.pushedAt + apart,
        renewedAt: cluster.renewedAt + apart,
        expiresAt: cluster.expiresAt + apart,
      };
      const body = {
        at: 500_000 + apart,
        status: { ...status, clusters: [shifted], behindSince: 400_000 + apart },
      };
      const { source } = sourceOf(() => Response.json(body));
      expect(await source.state(0)).toEqual({ at: 500_000, status: { ...status, behindSince: 400_000 } });
    },
  );

  it("may say more than this program knows", async () => {
    const more = {
      at: 500_000,
      hints: 1,
      status: { ...status, zones: 3, clusters: [{ ...cluster, pods: 2 }] },
    };
    const { source } = sourceOf(() => Response.json(more));
    expect(await source.state(0)).toEqual({ at: 500_000, status });
  });

  it("of a primary that is not ready names no image", async () => {
    const { imageHash: _, ...rest } = { ...status, ready: false };
    const { source } = sourceOf(() => Response.json({ at: 500_000, status: rest }));
    expect((await source.state(0)).status).toMatchObject({ ready: false, imageHash: undefined });
  });

  it.each([
    ["no JSON", () => new Response("<html>"), /without JSON: is it a clusterset-doh gateway/],
    ["no state", () => Response.json({}), /state cannot be read: at: /],
    [
      "a hash with a path in it",
      () => Response.json({ at: 1, status: { ...status, imageHash: "../../x" } }),
      /status\.imageHash/,
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
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
      /answered 302: without a word/,
    ],
    [
      "far too much",
      () => new Response(new Uint8Array(9 * 1024 * 1024)),
      /the state may have 8388608 octets/,
    ],
    ["no connection", () => Promise.reject(new TypeError("fetch failed")), /fetch failed/],
  ])("that is none is an error: %s", async (_, answer, message) => {
    await expect(sourceOf(answer).source.state(0)).rejects.toThrow(message);
  });

  it("no error tells the token", async () => {
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

describe("an image", () => {
  const octets = Uint8Array.of(1, 2, 3, 4, 5);
  const sent = (length: number | undefined, body: Uint8Array<ArrayBuffer> | ReadableStream = octets) =>
    new Response(body, length === undefined ? {} : { headers: { "content-length": String(length) } });
  const chunked = (...chunks: Uint8Array[]) =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });

  it.each([
    ["with its length", () => sent(5)],
    ["without one", () => sent(undefined, chunked(octets.slice(0, 2), octets.slice(2)))],
    [
      "with the length of something encoded",
      () => new Response(octets, { headers: { "content-length": "3", "content-encoding": "gzip" } }),
    ],
  ])("is one buffer of its own: %s", async (_, answer) => {
    const { source, asked } = sourceOf(answer);
    const image = (await source.image(HASH))!;
    expect(image).toEqual(octets);
    expect([image.byteOffset, image.buffer.byteLength]).toEqual([0, 5]);
    expect(asked[0]!.url).toBe(`https://doh.example.org:8443/behind/api/v1/transfer/images/${HASH}`);
  });

  it.each([
    ["by its length, unread", () => sent(6), /the image may have 4 octets and has 6 octets/],
    [
      "by what comes",
      () => sent(undefined, chunked(octets.slice(0, 3), octets.slice(3))),
      /may have 4 octets and has more/,
    ],
  ])("beyond the limit is refused: %s", async (_, answer, message) => {
    await expect(sourceOf(answer, { imageBytes: 4 }).source.image(HASH)).rejects.toThrow(message);
  });

  it("that is cut off is an error", async () => {
    await expect(sourceOf(() => sent(9)).source.image(HASH)).rejects.toThrow(/ended after 5 of 9 octets/);
  });

  describe("into memory that the host gives", () => {
    // More than is read at a time, several times over and a bit.
    const large = Uint8Array.from({ length: 2_500_003 }, (_, index) => (index * 31) >> 3);
    const allocate = () => new ArrayBuffer(3_000_000);
    const read = (answer: () => Response) =>
      sourceOf(answer, { imageBytes: 3_000_000, allocate }).source.image(HASH);

    /** A body that arrives while it is read, as one from a network does. */
    const arriving = (body: Uint8Array) => {
      let at = 0;
      return new ReadableStream({
        type: "bytes",
        pull(controller) {
          const view = controller.byobRequest!.view as Uint8Array;
          const part = body.subarray(at, at + Math.min(view.length, 65_536));
          at += part.length;
          view.set(part);
          if (part.length === 0) controller.close();
          controller.byobRequest!.respond(part.length);
        },
      });
    };

    it("is read in parts, and lies at its start", async () => {
      for (const body of [large, arriving(large)]) {
        const image = (await read(() => sent(large.length, body)))!;
        // Octet by octet, which toEqual takes seconds for.
        expect(Buffer.compare(image, large)).toBe(0);
        expect([image.byteOffset, image.buffer.byteLength]).toEqual([0, 3_000_000]);
      }
    });

    it.each([
      ["cut off", () => sent(2_500_004, arriving(large)), /the image ended after 2500003 of 2500004 octets/],
      ["cut off at once", () => sent(9, new Uint8Array(0)), /the image ended after 0 of 9 octets/],
      ["longer than it says", () => sent(2_500_002, large), /goes on after the 2500002 octets/],
      ["beyond the limit", () => sent(3_000_001, large), /may have 3000000 octets and has 3000001/],
    ])("%s it is an error", async (_, answer, message) => {
      await expect(read(answer)).rejects.toThrow(message);
    });

    it("cannot be what comes without a length", async () => {
      const image = (await read(() => sent(undefined, chunked(octets))))!;
      expect(image).toEqual(octets);
      expect(image.buffer.byteLength).toBe(5);
    });
  });

  it("that is replaced is undefined; any other 404 is an error", async () => {
    const gone = { code: "UNKNOWN_IMAGE", message: "gone" };
    expect(await sourceOf(() => Response.json(gone, { status: 404 })).source.image(HASH)).toBeUndefined();
    for (const answer of [
      new Response("not here", { status: 404 }),
      Response.json({ code: "NOT_FOUND" }, { status: 404 }),
    ])
      await expect(sourceOf(() => answer).source.image(HASH)).rejects.toThrow(/answered 404/);
  });
});

describe("where the primary is", () => {
  it.each(["doh.example.org", "ftp://doh.example.org", "", "https://"])("%j is no URL of one", (gateway) => {
    expect(() => new HttpTransferSource({ gateway })).toThrow(/must be an https URL/);
  });
});
