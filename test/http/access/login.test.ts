import { beforeAll, describe, expect, it } from "vitest";
import { readPage } from "../pages/read-page.ts";
import { accessWorld } from "./access-world.ts";

const PAGE = { accept: "text/html" };

let world: Awaited<ReturnType<typeof accessWorld>>;
beforeAll(async () => {
  world = await accessWorld();
});

const logIn = (token: string, headers: Record<string, string> = {}) =>
  world.ask("/login", {}, { method: "POST", body: new URLSearchParams({ token }), headers });

describe("a person with a bearer token", () => {
  it("gets the form where a page needs a token, and what a program gets otherwise", async () => {
    const rejected = await world.ask("/services", {}, { headers: PAGE });
    expect(rejected.status).toBe(401);
    expect(rejected.headers.get("www-authenticate")).toContain("Bearer");
    expect((await readPage(rejected)).html).toContain('<form action="/login" method="post">');
    const program = await world.ask("/services");
    expect(program.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  it("logs in by the form, and sees with the cookie what the token may see, on pages and /status alone", async () => {
    const response = await logIn(" laptop ");
    expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
    const [cookie, ...attributes] = response.headers.get("set-cookie")!.split("; ");
    expect(attributes.sort()).toEqual(["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]);
    const headers = { ...PAGE, cookie: `other=1; ${cookie}` };
    const { text } = await readPage(await world.ask("/services", {}, { headers }));
    expect(text).toContain("web.shop.svc");
    expect(text).not.toContain("vault.secret");
    for (const path of ["/status", "/services"])
      expect((await world.ask(path, {}, { headers })).status, path).toBe(200);
    for (const path of ["/resolve?name=web.shop.svc.clusterset.test", "/metrics", "/dns-query"])
      expect((await world.ask(path, {}, { headers })).status, path).toBe(401);
  });

  it("finds no link that needs more than the page, and reads that files of /setup have no token", async () => {
    const cookie = (await logIn("laptop")).headers.get("set-cookie")!.split("; ")[0]!;
    const page = async (path: string, shown = {}, more = {}) =>
      readPage(await world.ask(path, shown, { headers: { ...PAGE, ...more } }));
    const path = "/?name=web.shop.svc.clusterset.test&type=A";
    const needMore = ({ links }: { readonly links: readonly string[] }) =>
      links.filter((link) => /\/(?:resolve|dns-query)\?/.test(link));
    expect(needMore(await page(path, {}, { cookie }))).toEqual([]);
    const byPath = { prefix: "/tokens/phone" };
    expect(needMore(await page(path, byPath))).toHaveLength(2);
    const warning = "with a token that these files do not have";
    expect((await page("/setup", {}, { cookie })).text).toContain(warning);
    expect((await page("/setup", { authorization: "Bearer laptop" })).text).toContain(warning);
    const { text, links } = await page("/setup", byPath);
    expect(text).not.toContain(warning);
    const json = links.filter((link) => link.includes("/resolve?"));
    expect(json).toEqual([expect.stringMatching(/^https:\/\/gateway\.example\/tokens\/phone\/resolve\?/)]);
  });

  it("logs out by the form", async () => {
    const response = await world.ask("/logout", {}, { method: "POST" });
    expect(response.headers.get("set-cookie")).toMatch(/^__Host-clusterset-doh=; Max-Age=0; /);
  });

  it.each([
    ["/login", "DELETE", "GET, HEAD, POST"],
    ["/logout", "PUT", "POST"],
    ["/logout", "GET", "POST"],
  ])("is told the methods of %s for a %s", async (path, method, allow) => {
    const { status, headers } = await world.ask(path, {}, { method });
    expect([status, headers.get("allow")]).toEqual([405, allow]);
  });

  it.each([
    ["an unknown token", "other"],
    ["no token", ""],
    ["what is no token", "a b"],
    ["a token too long for a cookie", "a".repeat(4001)],
  ])("is told why %s is rejected", async (_, token) => {
    const response = await logIn(token);
    expect(response.status).toBe(401);
    expect(response.headers.get("set-cookie")).toBeNull();
    expect((await readPage(response)).html).toContain('role="alert"');
  });

  it.each([
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "null" },
  ])("is neither logged in nor out by a page of another site: %j", async (headers) => {
    for (const response of [
      await logIn("laptop", headers),
      await world.ask("/logout", {}, { method: "POST", headers }),
    ])
      expect([response.status, response.headers.get("set-cookie")]).toEqual([401, null]);
    expect((await logIn("laptop", { origin: "https://gateway.example" })).status).toBe(303);
  });

  it("sees what everybody sees with a session that is not valid any more; an unknown token stays 401", async () => {
    const open = await accessWorld({ everybody: { namespaces: ["shop"] } });
    const headers = { ...PAGE, cookie: "__Host-clusterset-doh=gone" };
    expect((await open.ask("/services", {}, { headers })).status).toBe(200);
    expect((await world.ask("/services", {}, { headers })).status).toBe(401);
    const body = new URLSearchParams({ token: "other" });
    expect((await open.ask("/login", {}, { method: "POST", body })).status).toBe(401);
  });
});

it("there is no form where no rule has a bearer token", async () => {
  const { ask } = await accessWorld({ rules: [], everybody: {} });
  expect((await ask("/login", {}, { headers: PAGE })).status).toBe(404);
});
