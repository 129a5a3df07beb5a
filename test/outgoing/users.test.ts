import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { connectTo } from "../../src/hosts/commands/gateway-connection.ts";
import { openIssuers } from "../../src/hosts/node/access/node-authority.ts";
import { WatchedFiles } from "../../src/hosts/node/files.ts";
import { createDohUpstream } from "../../src/hosts/node/upstreams/doh-upstream.ts";
import { openDispatcher } from "../../src/outgoing/dispatcher.ts";
import { GatewayRequests } from "../../src/worker/gateway-requests.ts";
import { folderOfTests } from "../folders.ts";
import { startApiServers } from "../worker/kubeconfig/api-servers.ts";

const servers = await startApiServers();
const folder = folderOfTests();
const caFile = join(folder, "ca.crt");
writeFileSync(caFile, servers.authority);
/** What the proxy alone knows: its certificate has that name. */
const url = new URL(servers.one.replace("127.0.0.1", "api.test"));
const signal = AbortSignal.timeout(10_000);
afterAll(() => servers.close());
beforeEach(() => {
  servers.reset();
  vi.stubEnv("HTTPS_PROXY", servers.httpProxy);
  return () => vi.unstubAllEnvs();
});

const users: Readonly<Record<string, () => Promise<unknown>>> = {
  "a worker that pushes": async () => {
    const requests = new GatewayRequests({ gateway: url.href, token: "t", ca: servers.authority });
    await requests.leave("west", signal).finally(() => requests.close());
  },
  "a command that queries a gateway": async () => {
    const gateway = await connectTo(url.href, { caFile });
    await gateway.get("/status", "application/json").finally(() => gateway.close());
  },
  "an upstream behind DNS over HTTPS": async () => {
    const upstream = createDohUpstream("one", url, {
      ca: () => servers.authority,
      token: () => undefined,
      timeout: 3000,
      queriesInFlight: 1,
    });
    await upstream.exchange(new Uint8Array(12), signal).finally(() => upstream.close());
  },
  "the keys of an issuer": async () => {
    const issued = { issuer: url.origin, audience: "a", jwksUri: url.href, caFile };
    const issuers = await openIssuers([issued], new WatchedFiles(), () => {});
    const header = { alg: "RS256", kid: "k" };
    const key = issuers.keysOf(issued).key(header, { payload: "", signature: "" });
    await key.finally(() => issuers.close());
  },
};

test.each(Object.entries(users))(
  "%s takes the proxy of the environment, but where NO_PROXY has the host",
  async (_, use) => {
    await use().catch(() => {});
    expect(servers.seen).toMatchObject([{ server: "one", through: "http" }]);
    servers.reset();
    vi.stubEnv("NO_PROXY", "api.test");
    await expect(use()).rejects.toThrow();
    expect(servers.seen).toEqual([]);
  },
);

test("a SOCKS proxy that never answers is given up after the time for a connection", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void silent.close());
  await once(silent, "listening");
  const proxy = new URL(`socks5://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const dispatcher = openDispatcher(url, { proxy, timeout: 50 });
  const request = dispatcher.request({ origin: url.origin, path: "/", method: "GET" });
  await expect(request.finally(() => dispatcher.destroy())).rejects.toThrow("timed out");
  // The library itself waits for 30 seconds.
}, 15_000);

test.each(["httpProxy", "socksProxy"] as const)(
  "the fingerprint of a certificate that is not trusted is read through the %s, too",
  async (proxy) => {
    vi.stubEnv("HTTPS_PROXY", servers[proxy].replace("//", "//me:secret@"));
    const requests = new GatewayRequests({ gateway: url.href, token: "t" });
    const leaving = requests.leave("west", signal).finally(() => requests.close());
    await expect(leaving).rejects.toThrow(/ fingerprint is ([0-9A-F]{2}:){31}[0-9A-F]{2}\./);
  },
);
