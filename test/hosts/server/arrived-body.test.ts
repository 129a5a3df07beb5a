import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/limits.ts";
import type { NodeRequest } from "../../../src/hosts/node/server/node-request.ts";
import { type NodeServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned } from "../../../src/hosts/node/tls/tls.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, getHeaders, PREFACE } from "./http2-frames.ts";

const MOST = 1000;
/** Indexed `:method: POST` (RFC 7541 appendix A). */
const POST = 0x83;

let folder: string;
let server: NodeServer;
let ca: string;
let agent: Agent;

/** Resolves when the server has looked whether the body of the newest request is there. */
let looked = Promise.withResolvers<void>();

/** Says what came of the body with the request, and what all of it is. */
async function describeBody(request: NodeRequest): Promise<string> {
  const arrived = await request.arrivedBody(MOST);
  looked.resolve();
  if (arrived !== undefined) return `came whole: ${new TextDecoder().decode(arrived)}`;
  return `streamed: ${await new Response(request.bodyStream()).text()}`;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-arrived-"));
  const tls = await keepSelfSigned(folder, "localhost", Date.now());
  ca = tls.cert;
  agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
  server = await startNodeServer({
    ...{ listen: { host: "127.0.0.1", port: 0 }, tls, limits: DEFAULT_SERVER_LIMITS },
    application: async (asked) => {
      const body = new TextEncoder().encode(await describeBody(asked));
      return { status: 200, headers: { "content-length": String(body.length) }, body };
    },
  });
});
afterAll(async () => {
  agent.destroy();
  await server.stop(0);
  rmSync(folder, { recursive: true });
});

/** Sends the parts of a body: the first one comes with the request, others after the server has looked for them. */
type Send = (parts: readonly string[]) => Promise<string>;

const overHttp1: Send = async (parts) => {
  looked = Promise.withResolvers();
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const sent = request({
    ...{ agent, port: server.address.port, host: "127.0.0.1", servername: "localhost", method: "PUT" },
    headers: { "content-length": length },
  });
  const answered = once(sent, "response");
  sent.cork();
  for (const [index, part] of parts.entries()) {
    if (index > 0) await looked.promise;
    sent.write(part);
    sent.uncork();
  }
  sent.end();
  const [response] = await answered;
  return text(response);
};

const overHttp2: Send = async (parts) => {
  looked = Promise.withResolvers();
  const socket = connectTls({
    ...{ host: "127.0.0.1", port: server.address.port, servername: "localhost", ca, ALPNProtocols: ["h2"] },
  });
  const ended = responseOn(socket);
  const block = getHeaders();
  block[0] = POST;
  let bytes = Buffer.concat([PREFACE, frame(FRAME.headers, END_HEADERS, 1, block)]);
  for (const [index, part] of parts.entries()) {
    if (index > 0) await looked.promise;
    const flags = index === parts.length - 1 ? END_STREAM : 0;
    socket.write(Buffer.concat([bytes, frame(FRAME.data, flags, 1, Buffer.from(part))]));
    bytes = Buffer.alloc(0);
  }
  return ended.finally(() => socket.destroy());
};

/** Resolves with the body of the first response. */
function responseOn(socket: TLSSocket): Promise<string> {
  let received = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    socket.on("data", (part: Buffer) => {
      received = Buffer.concat([received, part]);
      const frames = [...framesIn(received)].filter(({ type }) => type === FRAME.data);
      if (frames.some(({ flags }) => (flags & END_STREAM) !== 0))
        resolve(Buffer.concat(frames.map(({ payload }) => payload)).toString());
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection ended without a response")));
  });
}

describe.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("a body over %s", (_, send) => {
  it("is there at once if it came with the request", async () => {
    expect(await send(["one line"])).toBe("came whole: one line");
  });

  it("is there at once if it is empty", async () => {
    expect(await send([""])).toBe("came whole: ");
  });

  it("is still to be read if a part of it comes later", async () => {
    expect(await send(["one", " line"])).toBe("streamed: one line");
  });

  it("is still to be read if it is longer than wanted", async () => {
    const long = "x".repeat(MOST + 1);
    expect(await send([long])).toBe(`streamed: ${long}`);
  });

  it("does not end the connection for the next request", async () => {
    for (let round = 0; round < 3; round++)
      expect(await send([`round ${round}`])).toBe(`came whole: round ${round}`);
  });
});
