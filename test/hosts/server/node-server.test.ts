import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import type { ServerLimits } from "../../../src/config/limits.ts";
import { type NodeServer, startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import { serversOf } from "./tls-fixture.ts";

const servers = serversOf("server");

type Fetch = (request: Request) => Response | Promise<Response>;

async function start(
  limits: Partial<ServerLimits> = {},
  secure = true,
  fetch: Fetch = echo,
): Promise<NodeServer> {
  const server = await startNodeServer({
    listen: { host: "127.0.0.1", port: 0 },
    tls: secure ? servers.tls : undefined,
    fetch,
    limits: { ...DEFAULT_SERVER_LIMITS, ...limits },
    protection: ownProtection({ ...DEFAULT_SERVER_LIMITS, ...limits }),
  });
  servers.stopLater(server);
  return server;
}

const echo: Fetch = async (request) => new Response(`${request.method} ${await request.text()}`);

function http2(server: NodeServer): ClientHttp2Session {
  return servers.keep(connectHttp2(`https://127.0.0.1:${server.address.port}`, { ca: servers.tls.cert }));
}

function secureSocket(server: NodeServer, protocol: "h2" | "http/1.1"): TLSSocket {
  const options = {
    host: "127.0.0.1",
    port: server.address.port,
    ca: servers.tls.cert,
    ALPNProtocols: [protocol],
  };
  return servers.keep(connectTls(options));
}

function plainSocket(server: NodeServer): Socket {
  return servers.keep(connectTcp(server.address.port, "127.0.0.1"));
}

const closed = (emitter: { once(event: "close", listener: () => void): unknown }) =>
  new Promise<void>((resolve) => emitter.once("close", () => resolve()));

async function received(socket: Socket): Promise<string> {
  let text = "";
  for await (const part of socket) text += part;
  return text;
}

async function answered(stream: ClientHttp2Stream): Promise<string> {
  let text = "";
  for await (const part of stream) text += part;
  return text;
}

describe("protocols", () => {
  it("listens on both addresses of localhost, where there are both", async () => {
    const server = await startNodeServer({
      listen: { host: "localhost", port: 0 },
      tls: servers.tls,
      fetch: echo,
      limits: DEFAULT_SERVER_LIMITS,
      protection: ownProtection(),
    });
    servers.stopLater(server);
    const hasIPv6 = Object.values(networkInterfaces()).some((list) =>
      list?.some((one) => one.address === "::1"),
    );
    for (const host of hasIPv6 ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"]) {
      const session = connectHttp2(`https://${host}:${server.address.port}`, { ca: servers.tls.cert });
      servers.keep(session);
      // Node's client leaves out the brackets of an IPv6 authority.
      const stream = session.request({ ":method": "GET", ":authority": "localhost" });
      expect(await answered(stream), host).toBe("GET ");
    }
  });
});

describe("requests that other servers accept", () => {
  it.each([true, false])("two Host fields get 400 (RFC 9112 section 3.2; TLS: %s)", async (secure) => {
    const server = await start({}, secure);
    const socket = secure ? secureSocket(server, "http/1.1") : plainSocket(server);
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n");
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});
describe("stopping", () => {
  it("finishes a request in progress and accepts no new connection", async () => {
    let release = () => {};
    let arrived = () => {};
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await start({}, true, async () => {
      arrived();
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return new Response("late");
    });
    const stream = http2(server).request({ ":method": "GET" });
    await waiting;
    const stopped = server.stop(60_000);
    await closed(plainSocket(server));
    release();
    expect(await answered(stream)).toBe("late");
    await stopped;
  });

  it.each([true, false])(
    "lets no HTTP/1.1 connection stay open for another request (TLS: %s)",
    async (secure) => {
      const released = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      const server = await start({}, secure, async ({ url }) => {
        if (url.endsWith("/slow")) {
          arrived.resolve();
          await released.promise;
        }
        return new Response("late");
      });
      const open = () => (secure ? secureSocket(server, "http/1.1") : plainSocket(server));
      const [idle, busy] = [open(), open()];
      idle.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await new Promise((resolve) => idle.once("data", resolve));
      busy.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
      await arrived.promise;
      const stopped = server.stop(60_000);
      await closed(idle);
      released.resolve();
      expect(await received(busy)).toContain("late");
      await stopped;
    },
  );

  it("cuts off what does not finish", async () => {
    const server = await start();
    const stuck = http2(server).request({ ":method": "POST" });
    stuck.on("error", () => {});
    stuck.write("half");
    const idle = plainSocket(server);
    await new Promise((resolve) => idle.once("connect", resolve));
    await Promise.all([server.stop(50), closed(stuck), closed(idle)]);
  });
});

describe("another certificate", () => {
  it("is used for new connections", async () => {
    const server = await start();
    const other = await servers.anotherCertificate();
    server.renew(other);
    const socket = connectTls({ host: "127.0.0.1", port: server.address.port, ca: other.cert });
    servers.keep(socket);
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    expect(socket.authorized).toBe(true);
  });
});
