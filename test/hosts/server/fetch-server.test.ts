import { describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/limits/server-limits.ts";
import type { NodeServerOptions } from "../../../src/hosts/node/server/node-server.ts";
import {
  type FetchRuntime,
  type ListenOptions,
  startFetchServer,
} from "../../../src/hosts/runtimes/fetch-server.ts";

/** A runtime that takes every address but those that fail, with these codes. */
class FakeRuntime implements FetchRuntime {
  readonly name = "Fake";
  readonly listening: ListenOptions[] = [];
  readonly stopped: number[] = [];
  readonly #failures: Readonly<Record<string, string>>;

  constructor(failures: Readonly<Record<string, string>> = {}) {
    this.#failures = failures;
  }

  listen(options: ListenOptions) {
    const code = this.#failures[options.hostname];
    if (code !== undefined) throw Object.assign(new Error("the system said no"), { code });
    this.listening.push(options);
    return { port: options.port || 4711, stop: async (grace: number) => void this.stopped.push(grace) };
  }

  get addresses(): readonly string[] {
    return this.listening.map(({ hostname, port }) => `${hostname} ${port}`);
  }
}

const options = (host: string | undefined, port = 0): NodeServerOptions => ({
  listen: { host, port },
  tls: undefined,
  fetch: (_, client) => Response.json(client),
  limits: DEFAULT_SERVER_LIMITS,
});

describe("the server of a runtime", () => {
  it.each([
    ["localhost is both of its addresses, on one port", "localhost", {}, ["127.0.0.1 0", "::1 4711"]],
    ["localhost without IPv6", "localhost", { "::1": "EADDRNOTAVAIL" }, ["127.0.0.1 0"]],
    ["no host is every address", undefined, {}, [":: 0"]],
    ["no host without IPv6", undefined, { "::": "EAFNOSUPPORT" }, ["0.0.0.0 0"]],
    ["one address", "192.0.2.1", {}, ["192.0.2.1 0"]],
  ])("%s", async (_, host, failures, addresses) => {
    const runtime = new FakeRuntime(failures as Record<string, string>);
    const server = await startFetchServer(runtime)(options(host));
    expect(runtime.addresses).toEqual(addresses);
    expect(server.address.port).toBe(4711);
    await server.stop(17);
    expect(runtime.stopped).toEqual(addresses.map(() => 17));
  });

  it.each([
    ["EADDRINUSE", "127.0.0.1:53 is taken: stop the program"],
    ["EACCES", "127.0.0.1:53 is not allowed"],
    ["EADDRNOTAVAIL", "127.0.0.1:53 is not an address of this machine"],
    ["EIO", "cannot listen on 127.0.0.1:53: the system said no"],
  ])("explains %s", async (code, message) => {
    const runtime = new FakeRuntime({ "127.0.0.1": code });
    await expect(startFetchServer(runtime)(options("127.0.0.1", 53))).rejects.toThrow(message);
  });

  it("frees the first address if the second is in use", async () => {
    const runtime = new FakeRuntime({ "::1": "EADDRINUSE" });
    await expect(startFetchServer(runtime)(options("localhost"))).rejects.toThrow("localhost:4711 is taken");
    expect(runtime.stopped).toEqual([0]);
  });

  it("passes the client on to the application", async () => {
    const runtime = new FakeRuntime();
    await startFetchServer(runtime)(options("127.0.0.1"));
    const response = await runtime.listening[0]!.respond(new Request("http://a/"), "192.0.2.7");
    expect(await response.json()).toEqual({ address: "192.0.2.7", certificate: "none" });
  });

  it("rejects settings that it does not support, with a message", async () => {
    const start = startFetchServer(new FakeRuntime());
    const tls = { cert: "", key: "" };
    await expect(start({ ...options("localhost"), tls: { ...tls, clientCa: "" } })).rejects.toThrow(
      "Fake shows no client certificates",
    );
    const server = await start({ ...options("localhost"), tls });
    expect(() => server.renew(tls)).toThrow("restart the gateway");
  });
});
