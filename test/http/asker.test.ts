import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../src/http/app.ts";
import type { Connection } from "../../src/http/connection.ts";
import { createCredentials } from "../../src/http/credentials.ts";
import { withSourceCluster } from "../../src/resolve/source-cluster.ts";
import { base64url, FakeGateway, NOW, query } from "./fake-gateway.ts";
import { sha256 } from "./push-api.ts";

const NAME = "web.shop.fed.svc.federation";
const DNS = "application/dns-message";
const CODE = 65400;
const naming = (clusterId: string) => withSourceCluster(query(NAME), CODE, clusterId);

const credentials = createCredentials([
  { clusterId: "cluster-a", tokenSha256: sha256("token-a") },
  { clusterId: "cluster-a", tokenSha256: sha256("token-of-two") },
  { clusterId: "cluster-b", tokenSha256: sha256("token-of-two") },
]);
const trusted = [
  { clusterId: "cluster-a", addresses: ["127.0.0.1/32"] },
  { clusterId: "cluster-a", addresses: ["fd00::/8"] },
  { clusterId: "cluster-b", addresses: ["10.0.0.0/8"] },
];

let gateway: FakeGateway;
let app: ReturnType<typeof createApp>;
beforeEach(() => {
  gateway = new FakeGateway();
  app = createApp({
    gateway,
    clock: () => NOW,
    zones: [],
    version: "0",
    askers: { credentials, optionCode: CODE, trusted },
  });
});

interface Asked {
  readonly path?: string;
  readonly token?: string;
  readonly option?: string;
  readonly from?: string;
  readonly method?: "GET" | "POST";
}

async function ask({ path = "/dns-query", token, option, from, method = "GET" }: Asked) {
  const message = option === undefined ? query(NAME) : naming(option);
  const headers: Record<string, string> = {
    accept: DNS,
    "x-forwarded-for": "127.0.0.1",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const connection: Partial<Connection> = from === undefined ? {} : { clientAddress: from };
  return method === "GET"
    ? await app.request(`${path}?dns=${base64url(message)}`, { headers }, connection)
    : await app.request(
        path,
        { method, body: message, headers: { ...headers, "content-type": DNS } },
        connection,
      );
}

describe("who asks", () => {
  it.each<[string, Asked, string | undefined]>([
    ["nobody in particular", {}, undefined],
    ["the holder of a token", { token: "token-a" }, "cluster-a"],
    ["a token and the option of its cluster", { token: "token-a", option: "cluster-a" }, "cluster-a"],
    ["a token and the option of another cluster", { token: "token-a", option: "cluster-b" }, "cluster-a"],
    ["a token of two clusters", { token: "token-of-two" }, undefined],
    ["a token of two clusters with an option", { token: "token-of-two", option: "cluster-b" }, "cluster-b"],
    ["an option from nowhere", { option: "cluster-a" }, undefined],
    ["an option from a trusted address", { option: "cluster-a", from: "127.0.0.1" }, "cluster-a"],
    ["the same over IPv6", { option: "cluster-a", from: "fd00::1" }, "cluster-a"],
    ["the same, told as IPv6", { option: "cluster-a", from: "::ffff:127.0.0.1" }, "cluster-a"],
    ["an option from another cluster's address", { option: "cluster-b", from: "127.0.0.1" }, undefined],
    ["an option for a cluster nobody is trusted for", { option: "cluster-c", from: "127.0.0.1" }, undefined],
    ["a trusted address without an option", { from: "127.0.0.1" }, undefined],
    [
      "a token, and an option from a trusted address",
      { token: "token-a", option: "cluster-b", from: "10.1.2.3" },
      "cluster-b",
    ],
    ["a path", { path: "/clusters/cluster-b/dns-query" }, "cluster-b"],
    [
      "a path against a token and an option",
      { path: "/clusters/cluster-b/dns-query", token: "token-a", option: "cluster-a", from: "127.0.0.1" },
      "cluster-b",
    ],
  ])("%s", async (_, asked, view) => {
    for (const method of ["GET", "POST"] as const) {
      const response = await ask({ ...asked, method });
      expect(response.status).toBe(200);
      expect(gateway.asked.at(-1)?.view).toBe(view);
    }
  });

  it("is told of the query's own octets, though the next query came while the token was looked at", async () => {
    const slow = ask({ token: "token-a", option: "cluster-a" });
    await ask({ option: "cluster-b" });
    await slow;
    expect(gateway.asked.map((asked) => asked.query)).toEqual([naming("cluster-b"), naming("cluster-a")]);
  });

  it("is told by a token for JSON, too", async () => {
    const headers = { authorization: "Bearer token-a" };
    const response = await app.request(`/resolve?name=${NAME}`, { headers });
    expect(gateway.asked.at(-1)?.view).toBe("cluster-a");
    expect(await response.json()).toMatchObject({ Comment: expect.stringContaining("seen from cluster-a") });
    expect(response.headers.get("cache-control")).toBe("private, max-age=5");
    expect(response.headers.get("vary")).toBe("authorization, accept");
  });

  it("gets 401 for a bearer token that is not known, instead of an answer for somebody else", async () => {
    for (const method of ["GET", "POST"] as const) {
      const response = await ask({ token: "stolen", method });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await response.text()).not.toContain("stolen");
    }
    expect(gateway.asked).toEqual([]);
  });

  it("is nobody by other schemes of authorization", async () => {
    const headers = { authorization: "Basic dTpw" };
    expect((await app.request(`/dns-query?dns=${base64url(query(NAME))}`, { headers })).status).toBe(200);
    expect(gateway.asked.at(-1)?.view).toBeUndefined();
  });
});

describe("caches (RFC 9111)", () => {
  it.each<[string, Asked, string, string | null]>([
    ["outside", {}, "max-age=5", "authorization"],
    ["a token", { token: "token-a" }, "private, max-age=5", "authorization"],
    [
      "an option that counts",
      { option: "cluster-a", from: "127.0.0.1" },
      "private, max-age=5",
      "authorization",
    ],
    ["an option that is ignored", { option: "cluster-a" }, "private, max-age=5", "authorization"],
    ["a path", { path: "/clusters/cluster-a/dns-query" }, "max-age=5", null],
  ])("%s", async (_, asked, cacheControl, vary) => {
    const { headers } = await ask(asked);
    expect(headers.get("cache-control")).toBe(cacheControl);
    expect(headers.get("vary")).toBe(vary);
  });

  it("keep answers for anybody where neither tokens nor trusted addresses are configured", async () => {
    const plain = createApp({ gateway, clock: () => NOW, zones: [], version: "0" });
    const headers = { authorization: "Bearer token-a" };
    const path = `/dns-query?dns=${base64url(naming("cluster-a"))}`;
    const response = await plain.request(path, { headers }, { clientAddress: "127.0.0.1" });
    expect(gateway.asked.at(-1)?.view).toBeUndefined();
    expect(response.headers.get("cache-control")).toBe("max-age=5");
    expect(response.headers.get("vary")).toBeNull();
  });
});

it("a trusted address that is none is refused at once", () => {
  const askers = { trusted: [{ clusterId: "a", addresses: ["10.0.0.1/8"] }] };
  expect(() => createApp({ gateway, clock: () => NOW, zones: [], version: "0", askers })).toThrow(RangeError);
});
