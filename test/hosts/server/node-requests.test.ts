import type { ClientHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { PathHandlers } from "../../../src/hosts/node/server/requests.ts";
import type { HttpRequest } from "../../../src/http/messages/message.ts";
import { ConnectionErrors } from "../../../src/limits/counters.ts";
import { until } from "../../until.ts";
import { ownProtection } from "../default-limits.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, getHeaders, PREFACE } from "./http2-frames.ts";
import { closed, received, serversOfTests } from "./tls-fixture.ts";

const MIB = 1024 * 1024;

const servers = serversOfTests();

type Fetch = (request: Request) => Response | Promise<Response>;

async function start(fetch: Fetch, more: { secure?: boolean; paths?: PathHandlers } = {}) {
  const unforeseen: unknown[] = [];
  const errors = new ConnectionErrors();
  const { port } = await servers.start({
    ...more,
    fetch,
    onError: (error) => unforeseen.push(error),
    protection: { ...ownProtection(), errors },
  });
  return { port, unforeseen, errors };
}

const { tcp: plain, secure, http1, http2 } = servers;

/** The status of a request over HTTP/2, or the code that its stream was reset with. */
function statusOf(session: ClientHttp2Session, headers: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    const stream = session.request(headers);
    stream.on("error", () => {});
    stream.on("response", (answer) => resolve(`${answer[":status"]}`));
    stream.on("close", () => resolve(`reset ${stream.rstCode}`));
    stream.resume();
  });
}

/** What comes over a socket until it matches. */
function untilMatch(socket: Socket, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.resume();
    socket.on("data", (part) => {
      text += part;
      if (pattern.test(text)) resolve(text);
    });
    socket.on("close", () => reject(new Error(`closed after ${JSON.stringify(text.slice(-200))}`)));
  });
}

describe("an unforeseen exception", () => {
  const throwing: Fetch = (request) => {
    if (request.url.endsWith("/thrown")) throw new Error("planted");
    if (request.url.endsWith("/rejected")) return Promise.reject(new Error("planted"));
    if (request.url.endsWith("/unsendable")) return new Response("x", { headers: { connection: "close" } });
    return new Response("fine");
  };

  it.each(["/thrown", "/rejected", "/unsendable"])(
    "in the answer to %s is reported and answered by 500",
    async (path) => {
      const { port, unforeseen } = await start(throwing);
      const session = http2(port);
      expect(await statusOf(session, { ":path": path })).toBe("500");
      expect(unforeseen).toHaveLength(1);
      expect(await statusOf(session)).toBe("200");
      // HTTP/1.1 has such fields.
      if (path === "/unsendable") return;
      const inClear = await start(throwing, { secure: false });
      const socket = plain(inClear.port);
      socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(await untilMatch(socket, /fine/)).toMatch(/^HTTP\/1\.1 500 [\s\S]*HTTP\/1\.1 200 /);
      expect(inClear.unforeseen).toHaveLength(1);
    },
  );

  it("in making the 500 ends that request alone", async () => {
    const paths: PathHandlers = {
      at: (path) =>
        path === "/broken"
          ? () => {
              throw new Error("planted");
            }
          : undefined,
      failed: () => {
        throw new Error("planted again");
      },
    };
    const { port, unforeseen } = await start(throwing, { paths });
    const session = http2(port);
    expect(await statusOf(session, { ":path": "/broken" })).toBe("reset 2");
    expect(unforeseen).toHaveLength(1);
    expect(await statusOf(session)).toBe("200");

    const inClear = await start(throwing, { paths, secure: false });
    const [broken, bystander] = [plain(inClear.port), plain(inClear.port)];
    const gone = new Promise((resolve) => broken.on("close", resolve));
    broken.write("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    await gone;
    bystander.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await untilMatch(bystander, /fine/)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

it("an error of a connection is counted by what it was seen on", async () => {
  const { port, errors } = await start(() => new Response("x"));
  // DATA on stream 0 is a connection error (RFC 9113 section 6.1).
  const request = frame(FRAME.headers, END_HEADERS | END_STREAM, 1, getHeaders());
  for (const [socket, bytes] of [
    [secure(port, "h2"), Buffer.concat([PREFACE, request, frame(FRAME.data, 0, 0, Buffer.from("x"))])],
    [plain(port), "GET / HTTP/1.1\r\n\r\n"],
  ] as const) {
    socket.write(bytes);
    await closed(socket.resume());
  }
  const garbled = secure(port, "http/1.1");
  garbled.write("no HTTP\r\n\r\n");
  expect(await untilMatch(garbled, /\r\n\r\n/)).toMatch(/^HTTP\/1\.1 400 /);
  expect(["http2", "tls", "http1"].map((kind) => errors.counts.get(kind as "tls"))).toEqual([1, 1, 1]);
});

it.each([true, false])(
  "a client that requests another protocol is answered over HTTP/1.1, and its connection closes (TLS: %s)",
  async (isSecure) => {
    const echo: Fetch = async (request) =>
      new Response(`<${new URL(request.url).pathname}${await request.text()}>`);
    const { port } = await start(echo, { secure: isSecure });
    const upgrade = "Host: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n";
    for (const [request, body] of [
      [`GET /one HTTP/1.1\r\n${upgrade}\r\nGET /two HTTP/1.1\r\nHost: a\r\n\r\n`, "</one>"],
      [`POST /one HTTP/1.1\r\n${upgrade}Content-Length: 5\r\n\r\nGET /`, "</oneGET />"],
    ] as const) {
      const socket = http1(port, isSecure);
      const text = received(socket);
      socket.write(`GET /zero HTTP/1.1\r\nHost: a\r\n\r\n${request}`);
      expect(String(await text).match(/<.*?>|connection: close/gi)).toEqual([
        "</zero>",
        "connection: close",
        body,
      ]);
    }
  },
);

const POST = "POST / HTTP/1.1\r\nHost: a\r\n";
/** A body in chunks. */
const HELLO = "5\r\nhello\r\n0\r\n\r\n";
const hosts: Fetch = ({ method, url }) => new Response(`${method} ${url}\n`);

describe("a request over HTTP/1.1", () => {
  it.each([
    ["GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", "200", "GET http://a.example/x"],
    ["GET http://b.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", "200", "GET http://b.example/x"],
    ["GET /x HTTP/1.0\r\n\r\n", "200", "GET http://localhost/x"],
    ["GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n", "400", "malformed"],
    ["OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "204", "allow: GET"],
    ["get /x HTTP/1.1\r\nHost: a\r\n\r\n", "400", ""],
    ["TRACE /x HTTP/1.1\r\nHost: a\r\n\r\n", "501", "TRACE"],
    ["GET /x HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n", "417", "expectation"],
    ["nonsense\r\n\r\n", "400", ""],
    // RFC 9112 section 6: no length, or chunk, that two readers could take for different ones.
    [`${POST}Content-Length: 1\r\nContent-Length: 5\r\n\r\nhello`, "400", ""],
    [`${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${HELLO}`, "400", ""],
    [`${POST}Transfer-Encoding: xchunked\r\n\r\n${HELLO}`, "400", ""],
    [`${POST}Transfer-Encoding: chunked\r\n\r\n${"f".repeat(17)}\r\nhello`, "400", ""],
  ])("%j gets %s (RFC 9110, RFC 9112 section 3.2)", async (text, status, says) => {
    const { port } = await start(hosts, { secure: false });
    const socket = plain(port);
    socket.write(text);
    const answer = await untilMatch(
      socket,
      new RegExp(`^HTTP/1\\.1 \\d+[\\s\\S]*${says === "" ? "\r\n\r\n" : says}`),
    );
    expect(answer.slice(9, 12)).toBe(status);
  });

  it.each([true, false])(
    "with two Host fields gets 400 (RFC 9112 section 3.2; TLS: %s)",
    async (isSecure) => {
      const { port } = await start(hosts, { secure: isSecure });
      const socket = http1(port, isSecure);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n");
      expect(String(await received(socket))).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  it.each([true, false])(
    "has an unused body read to its end before the connection ends, or goes on (TLS: %s)",
    async (isSecure) => {
      const { port } = await start(() => new Response("too large", { status: 413 }), { secure: isSecure });
      for (const connection of ["close", "keep-alive"]) {
        const socket = http1(port, isSecure);
        const length = 20 * MIB;
        socket.write(
          `POST / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nContent-Length: ${length}\r\n\r\n`,
        );
        // Such clients write everything before they read anything.
        socket.pause();
        await new Promise<void>((resolve, reject) => {
          socket.on("error", reject);
          socket.write(Buffer.alloc(length), () => resolve());
        });
        expect(await untilMatch(socket, /too large/)).toMatch(/^HTTP\/1\.1 413 /);
        if (connection === "close") continue;
        socket.write("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
        expect(await untilMatch(socket, /too large/)).toMatch(/^HTTP\/1\.1 413 /);
      }
    },
  );
});

it.each([
  ["accept", ["a/b", "c/d"], "a/b, c/d"],
  ["authorization", ["Bearer one", "Bearer two"], "Bearer one, Bearer two"],
  ["content-type", ["application/dns-message", "text/plain"], "application/dns-message, text/plain"],
  ["cookie", ["a=1", "b=2"], "a=1; b=2"],
  ["x-absent", [], null],
  ["x-empty", [""], ""],
])(
  "repeated fields (RFC 9110 section 5.3, RFC 9113 section 8.2.3): the field %s with the values %j is %j over HTTP/1.1 and HTTP/2",
  async (name, values, value) => {
    const seen: (string | null)[] = [];
    const answer = { status: 204, headers: {}, body: null };
    const at = () => (request: HttpRequest) => {
      seen.push(request.header(name));
      return answer;
    };
    const { port } = await start(hosts, { paths: { at, failed: () => answer } });
    const block = getHeaders(values.map((one) => [name, one]));
    const lines = values.map((one) => `${name}: ${one}\r\n`).join("");
    secure(port, "http/1.1").write(`GET / HTTP/1.1\r\nhost: a\r\n${lines}\r\n`);
    secure(port, "h2").write(
      Buffer.concat([PREFACE, frame(FRAME.headers, END_HEADERS | END_STREAM, 1, block)]),
    );
    await until(() => expect(seen).toEqual([value, value]));
  },
);
