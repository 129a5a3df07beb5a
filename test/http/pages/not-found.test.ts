import { beforeAll, describe, expect, it } from "vitest";
import { QueryCounters } from "../../../src/answer/query-counters.ts";
import { createDirectory } from "../../../src/http/pages/directory.ts";
import { twoClusters } from "../../resolve/world.ts";
import { accessWorld } from "../access/access-world.ts";
import { FakeGateway, NOW } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";
import { readPage } from "./read-page.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(twoClusters());
});

describe("an unknown path", () => {
  it("is a page with working links for a browser", async () => {
    const { status, text, links } = await readPage(await world.fetch("/nothing", BROWSER));
    expect(status).toBe(404);
    expect(text).toContain("Nothing exists at this address.");
    const paths = links.filter((link) => link.startsWith("/"));
    expect(paths).toEqual(expect.arrayContaining(["/", "/services", "/clusters", "/conflicts", "/setup"]));
    for (const path of paths) expect((await world.fetch(path)).status, path).toBe(200);
  });

  it("shows no part of the request", async () => {
    const { html } = await readPage(await world.fetch("/tokens/secret-token?name=web", BROWSER));
    expect(html).not.toContain("secret-token");
  });

  it("has links with the token of the path", async () => {
    const { ask } = await accessWorld();
    const response = await ask("/nothing", { prefix: "/tokens/phone" }, { headers: BROWSER });
    expect(response.status).toBe(404);
    expect((await readPage(response)).links).toContain("/tokens/phone/services");
  });

  it("is text for a browser if pages are off", async () => {
    const app = openApp({ gateway: new FakeGateway(), clock: () => NOW, zones: [], version: "0" });
    const response = await app.request("/nothing", { headers: BROWSER });
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  it("is counted as a rejected request in both forms", async () => {
    const counters = new QueryCounters();
    const pages = { directory: createDirectory(() => undefined) };
    const zones = ["clusterset.test"];
    const app = openApp({
      gateway: new FakeGateway(),
      counters,
      pages,
      zones,
      clock: () => NOW,
      version: "0",
    });
    await app.request("/nothing", { headers: BROWSER });
    await app.request("/nothing");
    expect([...counters.rejections()]).toEqual([[404, 2]]);
  });
});

it("a file of /setup for a zone that is not served is a page for a browser, and text for others", async () => {
  const path = "/setup/curl/curl.sh?zone=example.org";
  const page = await readPage(await world.fetch(path, BROWSER));
  expect([page.status, page.text]).toEqual([
    404,
    expect.stringContaining("This gateway does not serve that zone"),
  ]);
  expect((await world.fetch(path)).headers.get("content-type")).toBe("text/plain; charset=utf-8");
});
