import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ClientTests } from "../../../src/answer/client-tests.ts";
import { twoClusters } from "../../resolve/world.ts";
import { base64url, NOW, query } from "../fake-gateway.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";

const ZONE = "clusterset.test";
const tokenOf = (html: string) => /client-test-([0-9a-f]{20})\./.exec(html)![1]!;
const ask = (world: PagesWorld, name: string, path = "/dns-query") =>
  world.fetch(`${path}?dns=${base64url(query(name))}`);
const result = async (world: PagesWorld, token: string) =>
  (await world.fetch(`/setup/test?zone=${ZONE}&token=${token}`, { accept: "application/json" })).json();

describe("the test of a client", () => {
  it("shows that no query arrived, then that one did, with its view", async () => {
    const world = await pagesWorld(twoClusters());
    const { html } = await world.page("/setup/test");
    const token = tokenOf(html);
    const name = `client-test-${token}.dns.${ZONE}`;
    expect(html).toContain(`<img class="pixel" src="https://${name}/" alt="">`);
    expect(await result(world, token)).toEqual({
      seen: false,
      message: expect.stringContaining("Not so far"),
    });
    expect((await world.page(`/setup/test?token=${token}`)).text).toContain("start another test");

    await ask(world, name.toUpperCase(), "/clusters/east/dns-query");
    await world.clock.advance(2000);
    expect(await result(world, token)).toEqual({
      seen: true,
      message: "Yes: this client queried this gateway for the name 2 s ago, as cluster east.",
    });
    const { text } = await world.page(`/setup/test?token=${token}`);
    expect(text).toContain("Yes: this client queried this gateway");
    expect(text).not.toContain("start another test");
  });

  it("does not change the answer: the name does not exist", async () => {
    const world = await pagesWorld(twoClusters());
    const token = tokenOf((await world.page("/setup/test")).html);
    const response = await world.fetch(`/resolve?name=client-test-${token}.dns.${ZONE}`);
    expect(await response.json()).toMatchObject({ Status: 3, Authority: [{ type: 6 }] });
    expect(await result(world, token)).toMatchObject({ seen: true });
  });

  it("works before the first push", async () => {
    const world = await pagesWorld([]);
    const token = tokenOf((await world.page("/setup/test")).html);
    await ask(world, `client-test-${token}.dns.${ZONE}`);
    expect(await result(world, token)).toMatchObject({ seen: true });
  });

  it("makes the browser load the name, and its script may query only the gateway", async () => {
    const world = await pagesWorld(twoClusters(), { publicUrl: "https://doh.example.org" });
    const { headers, html } = await world.page("/setup/test");
    const policy = headers.get("content-security-policy")!;
    expect(policy).toContain(`img-src data: https://client-test-${tokenOf(html)}.dns.${ZONE};`);
    expect(policy).toContain("connect-src 'self' https://doh.example.org;");
  });

  it("has a new name each time", async () => {
    const world = await pagesWorld(twoClusters());
    const tokens = await Promise.all(
      [1, 2, 3].map(async () => tokenOf((await world.page("/setup/test")).html)),
    );
    expect(new Set(tokens).size).toBe(3);
  });

  it.each(["", "short", "G".repeat(20), "0".repeat(21)])("has no test with the token %j", async (token) => {
    const world = await pagesWorld(twoClusters());
    const response = await world.fetch(`/setup/test?token=${token}`, { accept: "application/json" });
    expect(response.status).toBe(404);
    expect((await world.page(`/setup/test?token=${token}`)).html).toContain("client-test-");
  });

  it("explains on which hosts it does not work", async () => {
    const world = await pagesWorld(twoClusters(), { canSeeTests: false });
    const { text, html } = await world.page("/setup/test");
    expect(text).toContain("many places that do not share their queries");
    expect(html).not.toContain("<script>");
  });
});

describe("the record of queries", () => {
  const TOKEN = "0123456789abcdef0123";
  it("ends after two minutes, and is bounded", () => {
    const tests = new ClientTests();
    const see = (token: string, now = NOW) =>
      tests.look(query(`client-test-${token}.dns.${ZONE}`), undefined, now);
    see(TOKEN);
    expect(tests.sightingOf(TOKEN, NOW + 120_000)).toEqual({ at: NOW, view: undefined });
    expect(tests.sightingOf(TOKEN, NOW + 120_001)).toBeUndefined();
    for (let index = 0; index < 1000; index++) see(index.toString(16).padStart(20, "0"));
    expect(tests.sightingOf(TOKEN, NOW)).toBeUndefined();
    expect(tests.sightingOf("3e7".padStart(20, "0"), NOW)).toBeDefined();
  });

  it("contains no other names, for any query", () => {
    const tests = new ClientTests();
    for (const name of [
      "client-test-.dns.x",
      `client-test-${TOKEN}0.x`,
      `xclient-test${TOKEN}-.x`,
      `client-test-${"z".repeat(20)}.x`,
    ])
      tests.look(query(name), undefined, NOW);
    expect(tests.sightingOf(TOKEN, NOW)).toBeUndefined();
    const almost = fc.constantFrom("client-test-", "client-tesT-", "client_test-", "", "x");
    const digits = fc.stringMatching(/^[0-9a-g]{18,22}$/);
    fc.assert(
      fc.property(almost, digits, (prefix, token) => {
        tests.look(query(`${prefix}${token}.dns.${ZONE}`), undefined, NOW);
        const isTest = prefix.toLowerCase() === "client-test-" && /^[0-9a-f]{20}$/.test(token);
        expect(tests.sightingOf(token, NOW) !== undefined).toBe(isTest);
      }),
      { numRuns: 1000 },
    );
  });
});
