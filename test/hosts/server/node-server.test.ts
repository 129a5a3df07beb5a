import { once } from "node:events";
import type { Readable } from "node:stream";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { describe, expect, it, vi } from "vitest";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { makeAuthority } from "../client-certificates.ts";
import { closed, received, serversOfTests } from "./tls-fixture.ts";

const servers = serversOfTests();

type Fetch = (request: Request) => Response | Promise<Response>;

const echo: Fetch = async (request) => new Response(`${request.method} ${await request.text()}`);
const start = (secure = true, fetch = echo) => servers.start({ secure, fetch });
const http2 = ({ port }: Listener) => servers.http2(port);
const http1 = ({ port }: Listener, secure: boolean) => servers.http1(port, secure);
const textOf = async (stream: Readable) => String(await received(stream));
const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

describe("a connection", () => {
  /** A client whose handshake is over. @throws where there is none */
  async function connected(options: ConnectionOptions): Promise<TLSSocket> {
    const { port } = await servers.start();
    const socket = servers.keep(connectTls({ host: "127.0.0.1", port, ca: servers.tls.cert, ...options }));
    await once(socket, "secureConnect");
    return socket;
  }

  it.each<[string, string[] | undefined, string | false]>([
    ["HTTP/2", ["h2"], "h2"],
    ["both, HTTP/1.1 first", ["http/1.1", "h2"], "h2"],
    ["HTTP/1.1", ["http/1.1"], "http/1.1"],
    ["nothing", undefined, false],
  ])(
    "of a client that offers %s has the protocol that the server prefers (RFC 9113 section 3.2)",
    async (_, offered, chosen) => {
      const socket = await connected(offered === undefined ? {} : { ALPNProtocols: offered });
      expect(socket.alpnProtocol).toBe(chosen);
      if (chosen === "h2") return;
      socket.write(GET);
      expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  const OLD = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT:@SECLEVEL=0" } as const;
  it.each<[string, ConnectionOptions, RegExp]>([
    ["other protocols only (RFC 7301 section 3.2)", { ALPNProtocols: ["h3"] }, /no application protocol/i],
    ["TLS 1.1 (RFC 9113 section 9.2)", { ALPNProtocols: ["h2"], ...OLD }, /version|protocol/i],
  ])("with %s is rejected", async (_, options, reason) => {
    await expect(connected(options)).rejects.toThrow(reason);
  });

  it("with TLS 1.2 is not negotiated anew (RFC 9113 section 9.2.1)", async () => {
    const socket = await connected({ ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" });
    socket.resume();
    const failed = await new Promise<Error | null>((resolve) => {
      socket.renegotiate({}, resolve);
      socket.on("error", resolve);
    });
    expect(failed).toBeInstanceOf(Error);
  });

  it("of HTTP/2 opens no tunnel: CONNECT is not implemented (RFC 9113 section 8.5)", async () => {
    const stream = http2(await start()).request({ ":method": "CONNECT", ":authority": "example.org:443" });
    const [fields] = await once(stream, "response");
    expect(fields[":status"]).toBe(501);
  });
});

/** A handler that answers when it is released. */
function late() {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fetch = async () => {
    arrived.resolve();
    await released.promise;
    return new Response("late");
  };
  return { arrived, released, fetch };
}

describe("another authority for client certificates", () => {
  const trusting = async () => ({ ...servers.tls, clientCa: (await makeAuthority("clusters")).cert });

  it.each(["h2", "http/1.1"] as const)(
    "ends open connections, which keep no rights (%s)",
    async (protocol) => {
      const tls = await trusting();
      const server = await servers.start({ fetch: echo, tls });
      const other = protocol === "h2" ? http2(server) : http1(server, true);
      if ("request" in other) await textOf(other.request());
      else {
        other.write(GET);
        await new Promise((resolve) => other.once("data", resolve));
      }
      server.renew(tls);
      const next = await trusting();
      expect(other.destroyed).toBe(false);
      server.renew(next);
      await closed(other);
    },
  );

  it("breaks off no handshake: the connection ends with its first response", async () => {
    const server = await servers.start({ fetch: echo, tls: await trusting() });
    const socket = servers.tcp(server.port);
    await once(socket, "connect");
    // The server accepts connections in order.
    await textOf(http2(server).request());
    const next = await trusting();
    // However long it takes.
    const now = performance.now() + 5000;
    vi.spyOn(performance, "now").mockReturnValue(now);
    server.renew(next);
    vi.restoreAllMocks();
    const secured = connectTls({ socket, ca: servers.tls.cert, servername: "localhost" });
    secured.write(GET);
    expect(await textOf(secured)).toContain("GET ");
  });

  it("ends a busy HTTP/1.1 connection with its response", async () => {
    const { arrived, released, fetch } = late();
    const server = await servers.start({ tls: await trusting(), fetch });
    const busy = http1(server, true);
    busy.write(GET);
    await arrived.promise;
    server.renew(await trusting());
    released.resolve();
    expect(await textOf(busy)).toContain("late");
  });
});

describe("stopping", () => {
  it.each([true, false])(
    "lets no HTTP/1.1 connection stay open for another request (TLS: %s)",
    async (secure) => {
      const { arrived, released, fetch } = late();
      const server = await start(secure, (request) =>
        request.url.endsWith("/slow") ? fetch() : echo(request),
      );
      const [idle, busy] = [http1(server, secure), http1(server, secure)];
      idle.write(GET);
      await new Promise((resolve) => idle.once("data", resolve));
      busy.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
      await arrived.promise;
      const stopped = server.stop(60_000);
      await closed(idle);
      released.resolve();
      expect(await textOf(busy)).toContain("late");
      await stopped;
    },
  );

  it("waits for no connection that never had a request", async () => {
    const server = await servers.start({
      fetch: echo,
      limits: { requestSeconds: 3600, handshakeSeconds: 3600 },
    });
    const [silent, inHandshake] = [http1(server, true), servers.tcp(server.port)];
    await new Promise((resolve) => silent.once("secureConnect", resolve));
    // Answered behind both connections, so the server has them.
    expect(await textOf(http2(server).request())).toBe("GET ");
    await Promise.all([server.stop(2 ** 30), closed(silent), closed(inHandshake)]);
  });

  it("cuts off what does not finish", async () => {
    const server = await start();
    const stuck = http2(server).request({ ":method": "POST" });
    stuck.on("error", () => {});
    stuck.write("half");
    const idle = servers.tcp(server.port);
    await new Promise((resolve) => idle.once("connect", resolve));
    await Promise.all([server.stop(50), closed(stuck), closed(idle)]);
  });
});
