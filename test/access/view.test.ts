import { beforeEach, describe, expect, it } from "vitest";
import type { Client, LocationSettings } from "../../src/access/client.ts";
import type { StubZones } from "../../src/forward/stub-zones.ts";
import { withSourceCluster } from "../../src/resolve/query.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import {
  CLIENT_TOKENS,
  type ClientQuery,
  clientRequest,
  OPTION_CODE,
  TRUSTED,
} from "../conformance/cases/client-views.ts";
import { FakeGateway, query } from "../http/fake-gateway.ts";
import { openApp } from "../http/open-app.ts";
import { authorityOf, sha256 } from "./authorities.ts";

const NAME = "web.shop.fed.svc.federation";
const views = {
  credentials: authorityOf(
    CLIENT_TOKENS.map(({ clusterId, token }) => ({ clusterId, tokenSha256: sha256(token) })),
  ),
  optionCode: OPTION_CODE,
  trusted: [...TRUSTED, { clusterId: "cluster-a", addresses: ["fd00::/8"] }],
};
const rules = [
  { when: { country: ["US"], regionCode: ["TX", "OK"] }, region: "us-south1" },
  { when: { country: ["CH"] }, region: "europe-west1", zone: "europe-west1-b" },
  { when: { colo: ["GVA"] }, view: "cluster-left" },
  { when: { continent: ["EU"] }, region: "europe-west1" },
  { when: { country: ["US"] }, view: "cluster-b" },
];
const location: LocationSettings = { source: "cf", rules };

let gateway: FakeGateway;
beforeEach(() => {
  gateway = new FakeGateway();
});

const appWith = (settings?: LocationSettings, more: object = {}) =>
  openApp({ gateway, views: { ...views, location: settings }, ...more });
const fetchAs = async (asked: ClientQuery, client: Partial<Client>, app = appWith(location)) =>
  app.fetch(clientRequest(NAME, asked, "GET"), client);
/** The view of a query by GET and by POST, and what caches may do with the answer. */
async function seen(asked: ClientQuery, client: Partial<Client>, app = appWith(location)) {
  const [get, post] = [
    await fetchAs(asked, client, app),
    await app.fetch(clientRequest(NAME, asked, "POST"), client),
  ];
  expect([get.status, post.status]).toEqual([200, 200]);
  const [one, other] = gateway.asked.slice(-2);
  expect(one).toEqual(other);
  return { view: one!.view, cacheControl: get.headers.get("cache-control") };
}

describe("a client", () => {
  it.each<[string, ClientQuery, string | undefined, string | undefined]>([
    ["an option without an address", { option: "cluster-a" }, undefined, undefined],
    ["an option over IPv6", { option: "cluster-a" }, "fd00::1", "cluster-a"],
    ["an option from an IPv4 address in IPv6 form", { option: "cluster-a" }, "::ffff:127.0.0.1", "cluster-a"],
    ["a token, and another option", { token: "token-a", option: "cluster-b" }, "10.1.2.3", "cluster-b"],
  ])("%s", async (_, asked, address, view) => {
    expect((await seen(asked, address === undefined ? {} : { address }, appWith())).view).toBe(view);
  });

  it("keeps its query's bytes while its token is verified, even if another query arrives", async () => {
    const slow = fetchAs({ token: "token-a", option: "cluster-a" }, {});
    await fetchAs({ option: "cluster-b" }, {});
    await slow;
    const naming = (clusterId: string) => withSourceCluster(query(NAME), OPTION_CODE, clusterId);
    expect(gateway.asked.map((asked) => asked.query)).toEqual([naming("cluster-b"), naming("cluster-a")]);
  });

  it("gets 401 for an unknown token, which neither reaches the gateway nor appears in the answer", async () => {
    for (const method of ["GET", "POST"] as const) {
      const response = await appWith().fetch(clientRequest(NAME, { token: "stolen" }, method), {});
      expect(response.status).toBe(401);
      expect(await response.text()).not.toContain("stolen");
    }
    expect(gateway.asked).toEqual([]);
  });
});

it("an invalid trusted address is an error at the start", () => {
  const wrong = { trusted: [{ clusterId: "a", addresses: ["10.0.0.1/8"] }] };
  expect(() => openApp({ views: wrong })).toThrow(RangeError);
});

describe("the client's location (docs/how-to/location.md)", () => {
  const at = (location: Client["location"]): Partial<Client> => ({ location });
  const swiss = at({ country: "CH", continent: "EU" });
  const american = at({ country: "US" });
  const oneClient = "private, max-age=5";

  it.each<[string, ClientQuery, Partial<Client>, string | undefined, string?]>([
    ["chooses a place", {}, swiss, "zone:europe-west1/europe-west1-b"],
    ["chooses a region, in any case", {}, at({ continent: "eu" }), "region:europe-west1"],
    ["chooses the view of a cluster", {}, american, "cluster-b"],
    ["fits all facts of a rule", {}, at({ country: "US", regionCode: "OK" }), "region:us-south1"],
    ["lacks one of them", {}, at({ country: "MX", regionCode: "TX" }), undefined],
    ["chooses no cluster that left", {}, at({ colo: "GVA", continent: "EU" }), "region:europe-west1"],
    ["fits no rule", {}, at({ country: "JP" }), undefined],
    ["is not known", {}, {}, undefined],
    ["gives way to a path", { path: "/clusters/cluster-a/dns-query" }, american, "cluster-a", "max-age=5"],
    ["gives way to a token", { token: "token-a" }, american, "cluster-a"],
    ["but not to one of two clusters", { token: "token-of-two" }, american, "cluster-b"],
    ["gives way to an option", { option: "cluster-a" }, { ...american, address: "127.0.0.1" }, "cluster-a"],
    ["but not of any address", { option: "cluster-a" }, american, "cluster-b"],
  ])("%s", async (_, asked, client, view, cacheControl = oneClient) => {
    expect(await seen(asked, client)).toEqual({ view, cacheControl });
  });

  it("fits a rule without `when`, which comes last and chooses a view before a region", async () => {
    const last = { view: "cluster-b", region: "asia-east1" };
    const app = appWith({ source: "cf", rules: [...rules, last] });
    for (const client of [{}, at({ colo: "ZRH" })])
      expect((await seen({}, client, app)).view).toBe("cluster-b");
  });

  it("is no header field where the host is the source; else one counts from a trusted proxy alone", async () => {
    const headers = { "cf-ipcountry": "US", "x-forwarded-for": "10.0.0.1", forwarded: "for=10.0.0.1" };
    expect((await seen({ headers }, { address: "127.0.0.1" })).view).toBeUndefined();
    const fields = { country: "cf-ipcountry" };
    const app = appWith({
      source: "headers",
      trustedProxies: ["10.0.0.0/8"],
      hops: 1,
      headers: fields,
      rules,
    });
    const country = { headers: { "cf-ipcountry": "US" } };
    for (const [address, view] of [
      ["10.0.0.1", "cluster-b"],
      ["203.0.113.9", undefined],
    ] as const)
      expect(await seen(country, { address, ...swiss }, app)).toEqual({ view, cacheControl: oneClient });
  });

  it("leads a query to another name server with a source cluster, never with a place", async () => {
    const sources: (string | undefined)[] = [];
    const forward: StubZones["forward"] = async (_query, view) => {
      sources.push(view);
      const bytes = new Uint8Array(12);
      return { answer: { bytes, outcome: "answer", freshness: 5 }, outcome: "answered" };
    };
    const stubs = { size: 1, forward, keepAncestor: (_: Uint8Array, answer: Answer) => answer };
    for (const client of [swiss, american]) {
      const { headers } = await fetchAs({}, client, appWith(location, { stubs }));
      expect(headers.get("cache-control")).toBe(oneClient);
    }
    expect(sources).toEqual([undefined, "cluster-b"]);
  });

  it.each<[Partial<Client>, string]>([
    [swiss, "seen from outside, near europe-west1-b in europe-west1 (by location); "],
    [at({ continent: "EU" }), "seen from outside, near europe-west1 (by location); "],
    [american, "seen from cluster-b (by location); "],
    [{}, "seen from outside; "],
  ])("JSON says so: %j", async (client, said) => {
    const response = await appWith(location).request(`/resolve?name=${NAME}`, {}, client);
    expect(((await response.json()) as { Comment: string }).Comment).toContain(said);
    expect(response.headers.get("cache-control")).toBe(oneClient);
  });
});
