import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { networkInterfaces } from "node:os";
import type { Readable } from "node:stream";
import { connect as connectTls } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { makeAuthority } from "../client-certificates.ts";
import { serversOfTests } from "./tls-fixture.ts";

const servers = serversOfTests();

type Fetch = (request: Request) => Response | Promise<Response>;

const echo: Fetch = async (request) => new Response(`${request.method} ${await request.text()}`);
const start = (secure = true, fetch = echo) => servers.start({ secure, fetch });
const http2 = ({ port }: Listener) => servers.http2(port);
const plainSocket = ({ port }: Listener) => servers.tcp(port);
const http1 = ({ port }: Listener, secure: boolean) =>
  secure ? servers.secure(port, "http/1.1") : servers.tcp(port);

const closed = (emitter: { once(event: "close", listener: () => void): unknown }) =>
  new Promise<void>((resolve) => emitter.once("close", () => resolve()));

async function received(socket: Readable): Promise<string> {
  let text = "";
  for await (const part of socket) text += part;
  return text;
}

describe("protocols", () => {
  it("listens on both addresses of localhost, where there are both", async () => {
    const server = await servers.start({ host: "localhost", fetch: echo });
    const hasIPv6 = Object.values(networkInterfaces()).some((list) =>
      list?.some((one) => one.address === "::1"),
    );
    for (const host of hasIPv6 ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"]) {
      const session = connectHttp2(`https://${host}:${server.port}`, { ca: servers.tls.cert });
      servers.keep(session);
      // Node's client leaves out the brackets of an IPv6 authority.
      const stream = session.request({ ":method": "GET", ":authority": "localhost" });
      expect(await received(stream), host).toBe("GET ");
    }
  });
});

describe("requests that other servers accept", () => {
  it.each([true, false])("two Host fields get 400 (RFC 9112 section 3.2; TLS: %s)", async (secure) => {
    const server = await start(secure);
    const socket = http1(server, secure);
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n");
    expect(await received(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});
describe("another authority for client certificates", () => {
  it.each(["h2", "http/1.1"] as const)(
    "ends open connections, which keep no rights (%s)",
    async (protocol) => {
      const authority = await makeAuthority("clusters");
      const tls = { ...servers.tls, clientCa: authority.cert };
      const server = await servers.start({ fetch: echo, tls });
      const other = protocol === "h2" ? http2(server) : http1(server, true);
      if ("request" in other) await received(other.request());
      else {
        other.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        await new Promise((resolve) => other.once("data", resolve));
      }
      server.renew(tls);
      const next = { ...tls, clientCa: (await makeAuthority("clusters")).cert };
      expect(other.destroyed).toBe(false);
      server.renew(next);
      await closed(other);
    },
  );

  it("breaks off no handshake: the connection ends with its first response", async () => {
    const tls = { ...servers.tls, clientCa: (await makeAuthority("clusters")).cert };
    const server = await servers.start({ fetch: echo, tls });
    const socket = servers.tcp(server.port);
    await once(socket, "connect");
    // The server accepts connections in order.
    await received(http2(server).request());
    const next = await makeAuthority("clusters");
    // However long it takes.
    const now = performance.now() + 5000;
    vi.spyOn(performance, "now").mockReturnValue(now);
    server.renew({ ...tls, clientCa: next.cert });
    vi.restoreAllMocks();
    const secured = connectTls({ socket, ca: servers.tls.cert, servername: "localhost" });
    secured.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(await received(secured)).toContain("GET ");
  });

  it("ends a busy HTTP/1.1 connection with its response", async () => {
    const released = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const tls = { ...servers.tls, clientCa: (await makeAuthority("clusters")).cert };
    const server = await servers.start({
      tls,
      fetch: async () => {
        arrived.resolve();
        await released.promise;
        return new Response("late");
      },
    });
    const busy = http1(server, true);
    busy.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await arrived.promise;
    server.renew({ ...tls, clientCa: (await makeAuthority("clusters")).cert });
    released.resolve();
    expect(await received(busy)).toContain("late");
  });
});

describe("stopping", () => {
  it.each([true, false])(
    "lets no HTTP/1.1 connection stay open for another request (TLS: %s)",
    async (secure) => {
      const released = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      const server = await start(secure, async ({ url }) => {
        if (url.endsWith("/slow")) {
          arrived.resolve();
          await released.promise;
        }
        return new Response("late");
      });
      const [idle, busy] = [http1(server, secure), http1(server, secure)];
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

  it("waits for no connection that never had a request", async () => {
    const server = await servers.start({
      fetch: echo,
      limits: { requestSeconds: 3600, handshakeSeconds: 3600 },
    });
    const [silent, inHandshake] = [http1(server, true), plainSocket(server)];
    await new Promise((resolve) => silent.once("secureConnect", resolve));
    // Answered behind both connections, so the server has them.
    expect(await received(http2(server).request())).toBe("GET ");
    await Promise.all([server.stop(2 ** 30), closed(silent), closed(inHandshake)]);
  });

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
