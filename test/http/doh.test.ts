import { decode } from "dns-packet";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { QueryCounters } from "../../src/http/query-counters.ts";
import { base64url, FakeGateway, NOW, query } from "./fake-gateway.ts";

const DNS = "application/dns-message";
const NAME = "web.shop.svc.clusterset.test";

let gateway: FakeGateway;
let counters: QueryCounters;
let app: ReturnType<typeof createApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  counters = new QueryCounters();
  app = createApp({ gateway, counters, clock: () => NOW, zones: ["clusterset.local"], version: "0.0.0" });
});

const get = (path: string, headers: Record<string, string> = {}) => app.request(path, { headers });
const post = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, path = "/dns-query") =>
  app.request(path, { method: "POST", body, headers: { "content-type": DNS, ...headers } });

describe("GET (RFC 8484 section 4.1)", () => {
  it("answers the query in ?dns=", async () => {
    const response = await get(`/dns-query?dns=${base64url(query(NAME))}`, { accept: DNS });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(DNS);
    expect(response.headers.get("cache-control")).toBe("max-age=5");
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get("content-length")).toBe(String(bytes.length));
    expect(decode(bytes).answers).toMatchObject([{ type: "A", data: "10.1.0.1" }]);
    expect(gateway.asked).toEqual([{ query: query(NAME), view: undefined }]);
  });

  it.each([
    ["absent", undefined],
    ["empty, as Firefox may send", ""],
    ["*/*, as curl sends", "*/*"],
    ["application/*", "application/*"],
    ["with a parameter", "application/dns-message;q=0.5"],
    ["in upper case", "Application/DNS-Message"],
    ["among others", "text/html, application/dns-message;q=0.1"],
  ])("takes an Accept field %s", async (_, accept) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    const response = await get(`/dns-query?dns=${base64url(query(NAME))}`, headers);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(DNS);
  });

  it.each([
    "text/html",
    "application/dns-json",
    "application/dns-message;q=0",
    "*/*, application/dns-message; q=0.0",
  ])("refuses Accept: %s with 406", async (accept) => {
    const response = await get(`/dns-query?dns=${base64url(query(NAME))}`, { accept });
    expect(response.status).toBe(406);
    expect(gateway.asked).toEqual([]);
  });

  it.each([
    ["no dns parameter", ""],
    ["another parameter alone", "?body_hash=abc"],
    ["an empty one", "?dns="],
    ["plain base64", "?dns=AA%2BA"],
    ["a character outside the alphabet", "?dns=AA*A"],
    ["less than a header", "?dns=AAABAAABAAAAAAA"],
    ["a response", `?dns=${base64url(Uint8Array.from({ length: 12 }, (_, at) => (at === 2 ? 0x80 : 0)))}`],
    ["malformed percent-encoding", "?dns=%zz"],
  ])("refuses %s with 400 and says why", async (_, search) => {
    const response = await get(`/dns-query${search}`);
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect((await response.text()).length).toBeGreaterThan(20);
  });

  it("takes padding, encoded or not, other parameters, and the first of two", async () => {
    const text = base64url(query("a.bc", "A"));
    expect(text.length % 4).toBe(2);
    const searches = [`?dns=${text}==`, `?dns=${text}%3D%3D`, `?x=1&dns=${text}&y`, `?dns=${text}&dns=AAAA`];
    for (const search of searches) expect((await get(`/dns-query${search}`)).status, search).toBe(200);
    expect(gateway.asked.map((asked) => base64url(asked.query))).toEqual([text, text, text, text]);
  });

  it("answers an oversized ?dns= with 414 (RFC 9110 section 15.5.15)", async () => {
    const small = createApp({ gateway, clock: () => NOW, zones: [], version: "0", longestQuery: 512 });
    const ask = (size: number) => small.request(`/dns-query?dns=${base64url(sized(size))}`);
    expect((await ask(512)).status).toBe(200);
    expect((await ask(513)).status).toBe(414);
    expect((await ask(100_000)).status).toBe(414);
  });

  it("echoes the ID that dnscrypt-proxy probes with", async () => {
    const response = await get(`/dns-query?dns=${base64url(query(NAME, "A", 0xcafe))}`);
    expect(decode(Buffer.from(await response.arrayBuffer())).id).toBe(0xcafe);
  });

  it("forbids storing an answer without freshness", async () => {
    gateway.reply = { freshness: 0, outcome: "servfail" };
    const response = await get(`/dns-query?dns=${base64url(query(NAME))}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("does not let one query's bytes into the next", async () => {
    await get(`/dns-query?dns=${base64url(query("a-much-longer-name.shop.svc.clusterset.test"))}`);
    await get(`/dns-query?dns=${base64url(query("a.b"))}`);
    expect(gateway.asked[1]?.query).toEqual(query("a.b"));
  });
});

describe("HEAD", () => {
  it("has GET's fields and no body", async () => {
    const path = `/dns-query?dns=${base64url(query(NAME))}`;
    const response = await app.request(path, { method: "HEAD" });
    const whole = await get(path);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("");
    expect(Object.fromEntries(response.headers)).toEqual(Object.fromEntries(whole.headers));
  });
});

describe("POST (RFC 8484 section 4.1)", () => {
  it("answers the query in the body", async () => {
    const response = await post(query(NAME));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(DNS);
    expect(gateway.asked[0]?.query).toEqual(query(NAME));
  });

  it("ignores parameters: dnscrypt-proxy adds ?body_hash=", async () => {
    expect((await post(query(NAME), {}, "/dns-query?body_hash=x&name=ignored.example")).status).toBe(200);
    expect(gateway.asked[0]?.query).toEqual(query(NAME));
  });

  it.each(["Application/DNS-Message", "application/dns-message; charset=utf-8"])(
    "takes Content-Type %s",
    async (type) => {
      expect((await post(query(NAME), { "content-type": type })).status).toBe(200);
    },
  );

  it.each(["application/json", "text/plain", "application/x-www-form-urlencoded", ""])(
    "refuses Content-Type %j with 415",
    async (type) => {
      const response = await post(query(NAME), { "content-type": type });
      expect(response.status).toBe(415);
      expect(response.headers.get("accept-post")).toBe(DNS);
    },
  );

  it("refuses an Accept that excludes the answer with 406", async () => {
    expect((await post(query(NAME), { accept: "text/html" })).status).toBe(406);
  });

  it.each([0, 11])("refuses a body of %i octets with 400", async (size) => {
    expect((await post(new Uint8Array(size))).status).toBe(400);
  });

  it("answers a body over 65,535 octets with 413, declared or not (RFC 8484 section 4.2.1)", async () => {
    const declared = (size: number) => post(sized(size), { "content-length": String(size) });
    expect((await declared(65_535)).status).toBe(200);
    expect((await declared(65_536)).status).toBe(413);
    expect((await post(query(NAME), { "content-length": "65536" })).status).toBe(413);
    expect((await post(query(NAME), { "content-length": "nonsense" })).status).toBe(413);
    expect((await streamed(sized(65_535))).status).toBe(200);
    expect((await streamed(sized(65_536))).status).toBe(413);
  });

  it("stops reading an endless body at the limit", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(10_000));
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  it("answers a body that breaks off with 400", async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("gone")),
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(400);
  });
});

describe("other methods (RFC 9110 section 15.5.6)", () => {
  it.each(["PUT", "PATCH", "DELETE", "PROPFIND"])("refuses %s with 405 and Allow", async (method) => {
    const response = await app.request("/dns-query", { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
  });
});

describe("views by path", () => {
  it("answers as the cluster in the path sees it", async () => {
    const response = await get(`/clusters/cluster-a/dns-query?dns=${base64url(query(NAME))}`);
    expect(response.status).toBe(200);
    await post(query(NAME), {}, "/clusters/cluster-b/dns-query");
    expect(gateway.asked.map((asked) => asked.view)).toEqual(["cluster-a", "cluster-b"]);
  });

  it.each(["dns-query", "resolve"])("answers 404 for a cluster that never pushed (%s)", async (path) => {
    const response = await get(`/clusters/cluster-z/${path}?name=a.example`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("no cluster of that id");
  });

  it("says where things are under any other path", async () => {
    const response = await get("/dns");
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("/dns-query");
  });
});

describe("counting", () => {
  it("counts queries by view, outcome and type, and refusals by status", async () => {
    await get(`/dns-query?dns=${base64url(query(NAME, "AAAA"))}`);
    await post(query(NAME, "NAPTR"), {}, "/clusters/cluster-a/dns-query");
    await get("/resolve?name=web.shop.svc.clusterset.test&type=HTTPS");
    await get("/dns-query");
    expect([...counters.queries()]).toEqual([
      { transport: "https", view: "outside", outcome: "answer", type: "AAAA", count: 1 },
      { transport: "https", view: "outside", outcome: "answer", type: "HTTPS", count: 1 },
      { transport: "https", view: "cluster", outcome: "answer", type: "other", count: 1 },
    ]);
    expect([...counters.rejections()]).toEqual([[400, 1]]);
    const { buckets, sum } = counters.durations();
    expect(buckets.reduce((one, other) => one + other)).toBe(3);
    expect(sum).toBeGreaterThan(0);
  });
});

describe("an error of the gateway", () => {
  it("becomes a 500 that keeps its words to the log", async () => {
    const errors: Error[] = [];
    const failing = createApp({
      gateway: Object.assign(new FakeGateway(), {
        answer: () => {
          throw new Error("inner words");
        },
      }),
      clock: () => NOW,
      zones: [],
      version: "0",
      onError: (error) => errors.push(error),
    });
    const response = await failing.request(`/dns-query?dns=${base64url(query(NAME))}`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("inner words");
    expect(errors.map((error) => error.message)).toEqual(["inner words"]);
  });
});

/** A query that is padded with zeros to a size. */
function sized(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  bytes.set(query(NAME));
  return bytes;
}

function streamed(bytes: Uint8Array): Promise<Response> | Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += 1000) controller.enqueue(bytes.subarray(at, at + 1000));
      controller.close();
    },
  });
  return app.request("/dns-query", {
    method: "POST",
    body,
    duplex: "half",
    headers: { "content-type": DNS },
  } as RequestInit);
}
