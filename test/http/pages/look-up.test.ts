import { decode } from "dns-packet";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { twoClusters } from "../../resolve/world.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";

const WEB = "web.shop.svc.clusterset.test";

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(twoClusters());
});

describe("a look-up", () => {
  it("shows the answer, its view and its age", async () => {
    const { status, text } = await world.page(`/?name=${WEB}&type=A`);
    expect(status).toBe(200);
    expect(text).toContain("The name exists: 2 records.");
    expect(text).toContain("Seen from outside; 2 of 2 clusters live; east last seen 0 s ago");
    expect(text).toMatch(/10\.200\.0\.1 A 5 s Answer web\.shop\.svc\.clusterset\.test\./);
  });

  it("links to the answer as JSON and as a DNS message", async () => {
    const { links } = await world.page(`/?name=${WEB}&type=AAAA`);
    const response = await world.fetch(links.find((one) => one.startsWith("/resolve?"))!);
    expect(await response.json()).toMatchObject({ Answer: [{ type: 28, data: "fd00::c8:1" }] });
    const wire = links.find((one) => one.startsWith("/dns-query?dns="))!;
    const message = Buffer.from(await (await world.fetch(wire)).arrayBuffer());
    expect(decode(message).answers).toMatchObject([{ data: "fd00::c8:1" }]);
  });

  it("shows the explanation", async () => {
    const { text, links } = await world.page(`/?name=${WEB}&type=A`);
    expect(text).toContain("10.200.0.1 A: east");
    expect(text).toContain("the lease of west expires in 60 s, unless its worker renews it");
    expect(text).toContain("type ClusterSetIP east it has the oldest ServiceExport");
    expect(links).toContain(`/explain?name=${WEB}&type=A`);
  });

  it("links names that were perhaps meant", async () => {
    const { links, text } = await world.page("/?name=wbe.shop.svc.clusterset.test&type=A&view=west");
    expect(text).toContain("Did you mean:");
    expect(links).toContain(`/?name=${WEB}.&type=A&view=west#answer`);
  });

  it("has the view of the chosen cluster, and keeps the typed values", async () => {
    const { text, html, links } = await world.page(`/?name=${WEB}&type=A&view=west`);
    expect(text).toContain("Seen from west");
    expect(text).toContain("10.201.0.1");
    expect(text).not.toContain("10.200.0.1 A");
    expect(html).toContain(`value="${WEB}"`);
    expect(html).toContain("<option selected>west</option>");
    expect(links).toContain(`/clusters/west/resolve?name=${WEB}&type=A`);
  });

  it.each([
    ["a missing name", "nothing.shop.svc.clusterset.test", "A", "The name does not exist (NXDOMAIN)"],
    ["a missing type", WEB, "TXT", "has no TXT records (NODATA)"],
    ["a name out of zone", "example.org", "A", "Extended DNS Error 20 (Not Authoritative)"],
    ["a number as type", WEB, "65280", "has no TYPE65280 records"],
    ["an address", "10.200.0.1", "A", "web.shop.svc.clusterset.local."],
  ])("explains %s", async (_, name, type, said) => {
    const { status, text } = await world.page(`/?name=${name}&type=${type}`);
    expect(status).toBe(200);
    expect(text).toContain(said);
  });

  it.each([
    ["a malformed name", "name=a..b&type=A", "empty label"],
    ["a malformed type", `name=${WEB}&type=BOGUS`, "parameter type"],
    ["an unknown cluster", `name=${WEB}&view=nowhere`, 'no cluster "nowhere"'],
  ])("shows the error next to the form for %s", async (_, search, said) => {
    const { status, text, html } = await world.page(`/?${search}`);
    expect(status).toBe(400);
    expect(text).toContain(said);
    expect(html).toContain('role="alert"');
    expect(html).toContain('aria-invalid="true"');
  });

  it("explains why it cannot answer yet", async () => {
    const empty = await pagesWorld([]);
    const { status, text } = await empty.page(`/?name=${WEB}`);
    expect(status).toBe(200);
    expect(text).toContain("The gateway cannot answer now (SERVFAIL)");
    expect(text).toContain("Extended DNS Error 14 (Not Ready)");
    expect(text).toContain("Not answering yet: no cluster has pushed");
  });

  it("escapes any typed text", async () => {
    const markup = fc.stringMatching(/^[<>"'&a-z=/ ]{1,40}$/);
    await fc.assert(
      fc.asyncProperty(markup, markup, markup, async (name, type, view) => {
        const { html } = await world.page(`/?${new URLSearchParams({ name, type, view })}`);
        const plain = (await world.page("/")).html;
        const found = (await world.page("/?name=b&type=a&view=")).html;
        const tags = (of: string) => [...of.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag);
        // The parts of a result, besides the error about the typed values.
        const known = new Set([...tags(plain), ...tags(found), "table", "tr", "th", "td", "thead", "tbody"]);
        for (const tag of tags(html)) expect(known).toContain(tag);
        expect(html.match(/<form /g)).toHaveLength(plain.match(/<form /g)!.length);
      }),
      { numRuns: 100 },
    );
  });
});
