import { beforeAll, describe, expect, it } from "vitest";
import { twoClusters } from "../../resolve/world.ts";
import { accessWorld } from "../access/access-world.ts";
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

  it("has links with the token of the path", async () => {
    const { ask } = await accessWorld();
    const response = await ask("/nothing", { prefix: "/tokens/phone" }, { headers: BROWSER });
    expect(response.status).toBe(404);
    expect((await readPage(response)).links).toContain("/tokens/phone/services");
  });
});
