import { beforeEach, describe, expect, it } from "vitest";
import type { Client, LocationSettings } from "../../../src/access/client.ts";
import type { StubZones } from "../../../src/forward/stub-zones.ts";
import type { Answer } from "../../../src/resolve/record-writer.ts";
import {
  CLIENT_TOKENS,
  type ClientQuery,
  clientRequest,
  OPTION_CODE,
  TRUSTED,
} from "../../conformance/cases/client-views.ts";
import { FakeGateway } from "../../http/fake-gateway.ts";
import { openApp } from "../../http/open-app.ts";
import { authorityOf, sha256 } from "../authorities.ts";

const NAME = "web.shop.fed.svc.federation";
const views = {
  credentials: authorityOf(
    CLIENT_TOKENS.map(({ clusterId, token }) => ({ clusterId, tokenSha256: sha256(token) })),
  ),
  optionCode: OPTION_CODE,
  trusted: TRUSTED,
};
const rules = [
  { when: { country: ["CH"] }, region: "europe-west1", zone: "europe-west1-b" },
  { when: { continent: ["EU"] }, region: "europe-west1" },
  { when: { country: ["US"] }, view: "cluster-b" },
];
const location: LocationSettings = { source: "cf", rules };

let gateway: FakeGateway;
beforeEach(() => {
  gateway = new FakeGateway();
});

const appWith = (settings: LocationSettings | undefined, more: object = {}) =>
  openApp({ gateway, views: { ...views, location: settings }, ...more });

const swiss: Partial<Client> = { location: { country: "CH", continent: "EU" } };
const american: Partial<Client> = { location: { country: "US" } };
const fromLoopback: Partial<Client> = { ...american, address: "127.0.0.1" };

async function ask(asked: ClientQuery, client: Partial<Client>, method: "GET" | "POST" = "GET") {
  const response = await appWith(location).fetch(clientRequest(NAME, asked, method), client);
  expect(response.status).toBe(200);
  return { view: gateway.asked.at(-1)?.view, cacheControl: response.headers.get("cache-control") };
}

describe("the client's location (docs/how-to/location.md)", () => {
  const oneClient = "private, max-age=5";

  it.each<[string, ClientQuery, Partial<Client>, string | undefined, string]>([
    ["chooses a place", {}, swiss, "zone:europe-west1/europe-west1-b", oneClient],
    ["chooses a region", {}, { location: { continent: "EU" } }, "region:europe-west1", oneClient],
    ["chooses the view of a cluster", {}, american, "cluster-b", oneClient],
    ["no rule fits", {}, { location: { country: "JP" } }, undefined, oneClient],
    ["not known", {}, {}, undefined, oneClient],
    ["a path wins", { path: "/clusters/cluster-a/dns-query" }, american, "cluster-a", "max-age=5"],
    ["a token wins", { token: "token-a" }, american, "cluster-a", oneClient],
    ["an option wins that the client may use", { option: "cluster-a" }, fromLoopback, "cluster-a", oneClient],
    ["an option that it may not use is ignored", { option: "cluster-a" }, american, "cluster-b", oneClient],
    [
      "a token of two clusters decides nothing",
      { token: "token-of-two" },
      swiss,
      "zone:europe-west1/europe-west1-b",
      oneClient,
    ],
  ])("%s", async (_, asked, client, view, cacheControl) => {
    for (const method of ["GET", "POST"] as const)
      expect(await ask(asked, client, method)).toEqual({ view, cacheControl });
  });

  it("a token that is not known is 401 wherever the client is", async () => {
    const response = await appWith(location).fetch(clientRequest(NAME, { token: "stolen" }, "GET"), swiss);
    expect(response.status).toBe(401);
    expect(gateway.asked).toEqual([]);
  });

  it("is no header field where the host is the source", async () => {
    const headers = { "cf-ipcountry": "US", "x-forwarded-for": "10.0.0.1", forwarded: "for=10.0.0.1" };
    expect((await ask({ headers }, { address: "127.0.0.1" })).view).toBeUndefined();
  });

  it("leads a query to another name server with a source cluster, never with a place", async () => {
    const views: (string | undefined)[] = [];
    const forward: StubZones["forward"] = async (_query, view) => {
      views.push(view);
      const bytes = new Uint8Array(12);
      return { answer: { bytes, outcome: "answer", freshness: 5 }, outcome: "answered" };
    };
    const app = appWith(location, {
      stubs: {
        size: 1,
        forward,
        keepAncestor: (_: Uint8Array, answer: Answer) => answer,
      },
    });
    for (const client of [swiss, american]) {
      const response = await app.fetch(clientRequest(NAME, {}, "GET"), client);
      expect(response.headers.get("cache-control")).toBe(oneClient);
    }
    expect(views).toEqual([undefined, "cluster-b"]);
  });

  it.each<[Partial<Client>, string]>([
    [swiss, "seen from outside, near europe-west1-b in europe-west1 (by location); "],
    [{ location: { continent: "EU" } }, "seen from outside, near europe-west1 (by location); "],
    [american, "seen from cluster-b (by location); "],
    [{}, "seen from outside; "],
  ])("JSON says so: %j", async (client, said) => {
    const request = new Request(`https://doh.example/resolve?name=${NAME}`);
    const response = await appWith(location).fetch(request, client);
    expect(((await response.json()) as { Comment: string }).Comment).toContain(said);
    expect(response.headers.get("cache-control")).toBe(oneClient);
  });

  it("from header fields counts from a trusted proxy alone", async () => {
    const app = appWith({
      source: "headers",
      trustedProxies: ["10.0.0.0/8"],
      hops: 1,
      headers: { country: "cf-ipcountry" },
      rules,
    });
    const seenFrom = async (clientAddress: string) => {
      const headers = { "cf-ipcountry": "US" };
      const response = await app.fetch(clientRequest(NAME, { headers }, "GET"), {
        address: clientAddress,
        ...swiss,
      });
      return { view: gateway.asked.at(-1)?.view, cacheControl: response.headers.get("cache-control") };
    };
    expect(await seenFrom("10.0.0.1")).toEqual({ view: "cluster-b", cacheControl: oneClient });
    expect(await seenFrom("203.0.113.9")).toEqual({ view: undefined, cacheControl: oneClient });
  });

  it("a cluster that left is passed over", async () => {
    gateway.state = { ...gateway.state, clusters: [] };
    expect((await ask({}, american)).view).toBeUndefined();
  });
});
