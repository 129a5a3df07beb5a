import { decode } from "dns-packet";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { twoClusters } from "../../resolve/world.ts";
import { type PagesWorld, pagesWorld } from "./pages-world.ts";
import { expectPage } from "./read-page.ts";

const WEB = "web.shop.svc.clusterset.test";

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(twoClusters());
});

describe("a look-up", () => {
  it.each<[string, string, (string | RegExp)[]]>([
    [
      "the answer, its view and its age, and the explanation",
      `/?name=${WEB}&type=A`,
      [
        "The name exists: 2 records.",
        "Seen from outside; 2 of 2 clusters live; east last seen 0 s ago",
        /10\.200\.0\.1 A 5 s Answer web\.shop\.svc\.clusterset\.test\./,
        "10.200.0.1 A: east",
        "the lease of west expires in 60 s, unless its worker renews it",
        "type ClusterSetIP east it has the oldest ServiceExport",
        `/explain?name=${WEB}&type=A`,
      ],
    ],
    [
      "names that were perhaps meant",
      "/?name=wbe.shop.svc.clusterset.test&type=A&view=west",
      ["Did you mean:", `/?name=${WEB}.&type=A&view=west#answer`],
    ],
    [
      "the view of the chosen cluster, and the typed values",
      `/?name=${WEB}&type=A&view=west`,
      [
        "Seen from west",
        "10.201.0.1",
        /^(?!.*10\.200\.0\.1 A)/,
        ` value="${WEB}"`,
        "<option selected>west</option>",
        `/clusters/west/resolve?name=${WEB}&type=A`,
      ],
    ],
    ["a missing name", "/?name=nothing.shop.svc.clusterset.test", ["The name does not exist (NXDOMAIN)"]],
    ["a missing type", `/?name=${WEB}&type=TXT`, ["has no TXT records (NODATA)"]],
    ["a name out of zone", "/?name=example.org", ["Extended DNS Error 20 (Not Authoritative)"]],
    ["the names of an address", "/?name=10.200.0.1", ["web.shop.svc.clusterset.local."]],
  ])("shows %s", async (_, path, parts) => {
    expectPage(await world.page(path), parts);
  });

  it("links to the answer as JSON and as a DNS message", async () => {
    const { links } = await world.page(`/?name=${WEB}&type=AAAA`);
    const response = await world.fetch(links.find((one) => one.startsWith("/resolve?"))!);
    expect(await response.json()).toMatchObject({ Answer: [{ type: 28, data: "fd00::c8:1" }] });
    const wire = links.find((one) => one.startsWith("/dns-query?dns="))!;
    const message = Buffer.from(await (await world.fetch(wire)).arrayBuffer());
    expect(decode(message).answers).toMatchObject([{ data: "fd00::c8:1" }]);
  });

  it.each([
    ["name", "name=a..b&type=A", "empty label"],
    ["type", `name=${WEB}&type=BOGUS`, "parameter type"],
  ])("shows the error next to the form for a malformed %s", async (_, search, said) => {
    expectPage(await world.page(`/?${search}`), [said, ' role="alert"', ' aria-invalid="true"'], 400);
  });

  it("explains why it cannot answer yet", async () => {
    expectPage(await (await pagesWorld([])).page(`/?name=${WEB}`), [
      "The gateway cannot answer now (SERVFAIL)",
      "Extended DNS Error 14 (Not Ready)",
      "Not answering yet: no cluster has pushed",
    ]);
  });

  it("escapes any typed text", async () => {
    const plain = (await world.page("/")).html;
    const found = (await world.page("/?name=b&type=a&view=")).html;
    const tags = (of: string) => [...of.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag);
    // The parts of a result, besides the error about the typed values.
    const known = new Set([...tags(plain), ...tags(found), "table", "tr", "th", "td", "thead", "tbody"]);
    const markup = fc.stringMatching(/^[<>"'&a-z=/ ]{1,40}$/);
    await fc.assert(
      fc.asyncProperty(markup, markup, markup, async (name, type, view) => {
        const { html } = await world.page(`/?${new URLSearchParams({ name, type, view })}`);
        for (const tag of tags(html)) expect(known).toContain(tag);
        expect(html.match(/<form /g)).toHaveLength(plain.match(/<form /g)!.length);
      }),
      { numRuns: 100 },
    );
  });
});

it("lists the services once, on hosts that fetch them too", async () => {
  let requests = 0;
  const services = async () => {
    requests++;
    return { total: 0, services: [] };
  };
  const fetching = await pagesWorld([], { listed: () => ({ world: {} as never, services }) });
  expect((await fetching.page("/")).status).toBe(200);
  expect(requests).toBe(1);
});
