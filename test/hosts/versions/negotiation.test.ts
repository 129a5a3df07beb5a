import { once } from "node:events";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { serversOfTests } from "../server/tls-fixture.ts";

const servers = serversOfTests();

/** A client whose handshake is over. @throws where there is none */
async function connected(options: ConnectionOptions): Promise<TLSSocket> {
  const { port } = await servers.start();
  const socket = servers.keep(connect({ host: "127.0.0.1", port, ca: servers.tls.cert, ...options }));
  await once(socket, "secureConnect");
  return socket;
}

describe("a connection", () => {
  test.each<[string, string[] | undefined, string | false]>([
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
      socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
      expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test("of a client that offers other protocols only is rejected (RFC 7301 section 3.2)", async () => {
    await expect(connected({ ALPNProtocols: ["h3", "other"] })).rejects.toThrow(/no application protocol/i);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)("has %s (section 9.2)", async (version) => {
    const socket = await connected({ ALPNProtocols: ["h2"], minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
  });

  test("with TLS 1.1 is rejected (section 9.2)", async () => {
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT:@SECLEVEL=0" } as const;
    await expect(connected({ ALPNProtocols: ["h2"], ...old })).rejects.toThrow(/version|protocol/i);
  });

  test("is not negotiated anew (section 9.2.1)", async () => {
    const socket = await connected({ ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" });
    socket.resume();
    const failed = await new Promise<Error | null>((resolve) => {
      socket.renegotiate({}, resolve);
      socket.on("error", resolve);
    });
    expect(failed).toBeInstanceOf(Error);
  });
});

test("CONNECT is not implemented (section 8.5)", async () => {
  const session = servers.http2((await servers.start()).port);
  const stream = session.request({ ":method": "CONNECT", ":authority": "example.org:443" });
  const [fields] = await once(stream, "response");
  expect(fields[":status"]).toBe(501);
});
