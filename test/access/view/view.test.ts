import { beforeEach, describe, expect, it } from "vitest";
import { withSourceCluster } from "../../../src/resolve/query.ts";
import {
  CLIENT_TOKENS,
  type ClientQuery,
  clientRequest,
  OPTION_CODE,
  TRUSTED,
} from "../../conformance/cases/client-views.ts";
import { base64url, FakeGateway, query } from "../../http/fake-gateway.ts";
import { openApp } from "../../http/open-app.ts";
import { authorityOf, sha256 } from "../authorities.ts";

const NAME = "web.shop.fed.svc.federation";
const naming = (clusterId: string) => withSourceCluster(query(NAME), OPTION_CODE, clusterId);

const credentials = authorityOf(
  CLIENT_TOKENS.map(({ clusterId, token }) => ({ clusterId, tokenSha256: sha256(token) })),
);
const trusted = [...TRUSTED, { clusterId: "cluster-a", addresses: ["fd00::/8"] }];

let gateway: FakeGateway;
let app: ReturnType<typeof openApp>;
beforeEach(() => {
  gateway = new FakeGateway();
  app = openApp({ gateway, views: { credentials, optionCode: OPTION_CODE, trusted } });
});

const METHODS = ["GET", "POST"] as const;

/** Asks from an address; undefined where the host knows none. */
async function ask(asked: ClientQuery, from: string | undefined, method: "GET" | "POST" = "GET") {
  return await app.fetch(clientRequest(NAME, asked, method), from === undefined ? {} : { address: from });
}

describe("a client", () => {
  it.each<[string, ClientQuery, string | undefined, string | undefined]>([
    ["an option without an address", { option: "cluster-a" }, undefined, undefined],
    ["an option over IPv6", { option: "cluster-a" }, "fd00::1", "cluster-a"],
    ["an option from an IPv4 address in IPv6 form", { option: "cluster-a" }, "::ffff:127.0.0.1", "cluster-a"],
    [
      "a token, and an option from another",
      { token: "token-a", option: "cluster-b" },
      "10.1.2.3",
      "cluster-b",
    ],
  ])("%s", async (_, asked, from, view) => {
    for (const method of METHODS) {
      expect((await ask(asked, from, method)).status).toBe(200);
      expect(gateway.asked.at(-1)?.view).toBe(view);
    }
  });

  it("keeps its query's bytes while its token is verified, even if another query arrives", async () => {
    const slow = ask({ token: "token-a", option: "cluster-a" }, undefined);
    await ask({ option: "cluster-b" }, undefined);
    await slow;
    expect(gateway.asked.map((asked) => asked.query)).toEqual([naming("cluster-b"), naming("cluster-a")]);
  });

  it("gets 401 for an unknown token, which neither reaches the gateway nor appears in the answer", async () => {
    for (const method of METHODS)
      expect(await (await ask({ token: "stolen" }, undefined, method)).text()).not.toContain("stolen");
    expect(gateway.asked).toEqual([]);
  });
});

describe("caches (RFC 9111)", () => {
  it("may keep answers for all clients if neither tokens nor trusted addresses are configured", async () => {
    const plain = openApp({ gateway });
    const headers = { authorization: "Bearer token-a" };
    const path = `/dns-query?dns=${base64url(naming("cluster-a"))}`;
    const response = await plain.request(path, { headers }, { address: "127.0.0.1" });
    expect(gateway.asked.at(-1)?.view).toBeUndefined();
    expect(response.headers.get("cache-control")).toBe("max-age=5");
    expect(response.headers.get("vary")).toBeNull();
  });
});

it("an invalid trusted address is an error at the start", () => {
  const views = { trusted: [{ clusterId: "a", addresses: ["10.0.0.1/8"] }] };
  expect(() => openApp({ views })).toThrow(RangeError);
});
