import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { CLIENT_GROUPS } from "../../../src/http/pages/setup.ts";
import { snapshot } from "../../merge/fixtures.ts";
import { twoClusters } from "../../resolve/world.ts";
import { ORIGIN, type PagesWorld, pagesWorld } from "./pages-world.ts";

const everything = {
  publicUrl: "https://doh.example.org",
  gatewayAddresses: () => ({
    addresses: ["192.0.2.1"],
    outside: "forward" as const,
    dns: { address: undefined, port: 53 },
    dot: { address: undefined, port: 853 },
    certificate: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
  }),
};

let world: PagesWorld;
beforeAll(async () => {
  world = await pagesWorld(twoClusters(), everything);
});

const withoutZone = (link: string) => link.replace(/\?.*$/, "");

describe("/setup", () => {
  it("shows the alias zone by default, and the gateway's public address", async () => {
    const { text, html } = await world.page("/setup");
    expect(text).toContain("Set up a client for clusterset.test");
    expect(text).toContain("https://doh.example.org/dns-query{?dns}");
    expect(text).not.toContain("set publicUrl");
    expect(html).toContain("<option selected>clusterset.test</option><option>clusterset.local</option>");
    expect((await world.page("/setup?zone=CLUSTERSET.local.")).text).toContain(
      "Set up a client for clusterset.local",
    );
  });

  it("links to every file that it shows, with the same text", async () => {
    const { html, links } = await world.page("/setup");
    const files = links.filter((link) => /^\/setup\/[^/]+\/[^/]+\?/.test(link));
    const shown = CLIENT_GROUPS.flatMap(({ clients }) => clients)
      // Firefox does not accept the self-signed certificate.
      .filter(({ id }) => id !== "firefox")
      .reduce((count, { files: made }) => count + made.length, 0);
    // The certificate is only a link.
    expect(files).toHaveLength(shown + 1);
    for (const link of files) {
      const response = await world.fetch(link);
      expect(response.status, link).toBe(200);
      expect(response.headers.get("cache-control")).toBe("private, no-cache");
      expect(response.headers.get("content-disposition")).toBe(
        `attachment; filename="${withoutZone(link).split("/").at(-1)}"`,
      );
      const text = await response.text();
      if (link.startsWith("/setup/certificate/")) continue;
      const escaped = text
        .replaceAll("&", "&amp;")
        .replaceAll("<", "&lt;")
        .replaceAll(">", "&gt;")
        .replaceAll('"', "&quot;")
        .replaceAll("'", "&#39;");
      expect(html).toContain(`>${escaped}</pre>`);
    }
  });

  it("uses the address of the request if none is configured, and says so", async () => {
    const guessing = await pagesWorld(twoClusters());
    const { text } = await guessing.page("/setup");
    expect(text).toContain(`${ORIGIN}/dns-query`);
    expect(text).toContain("set publicUrl");
  });

  it("rejects an address that DNS over HTTPS cannot have, and says what to do", async () => {
    const clear = await pagesWorld(twoClusters(), { origin: "http://doh.example" });
    const { status, text } = await clear.page("/setup");
    expect(status).toBe(404);
    expect(text).toContain("set publicUrl to the gateway's https address");
    expect((await clear.fetch("/setup/chromium/clusterset-doh.json")).status).toBe(404);
    const behindProxy = await pagesWorld(twoClusters(), {
      origin: "http://doh.example",
      publicUrl: "https://doh.example",
    });
    expect((await behindProxy.page("/setup")).text).toContain("https://doh.example/dns-query");
  });

  it("rejects a Host field that breaks out of a file", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.webUrl({ validSchemes: ["https"], withFragments: true, withQueryParameters: true }),
        async (url) => {
          const { origin } = new URL(url);
          const response = await (await pagesWorld([], { origin })).fetch("/setup/curl/curl.sh");
          const text = await response.text();
          if (response.status === 404) return;
          expect(
            text.split("\n").every((line) => line === "" || /^curl(?: [-\w]+)* '[^'\s]+'$/.test(line)),
          ).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("shows an existing name in the chosen zone", async () => {
    expect((await world.page("/setup")).text).toContain("@192.0.2.1 log.ops.svc.clusterset.test A");
    const empty = await pagesWorld([snapshot("east")], everything);
    expect((await empty.page("/setup")).text).toContain("@192.0.2.1 dns-version.clusterset.test TXT");
  });

  it("offers the self-signed certificate, and explains if there is none", async () => {
    const response = await world.fetch("/setup/certificate/certificate.crt");
    expect(await response.text()).toBe(everything.gatewayAddresses().certificate);
    const other = await pagesWorld([]);
    expect((await other.fetch("/setup/certificate/certificate.crt")).status).toBe(404);
    expect((await other.page("/setup")).text).not.toContain("self-signed");
  });
});
