import { beforeAll, describe, expect, it } from "vitest";
import { clientsFor } from "../../../src/http/setup/clients.ts";
import { readSetupFacts } from "../../../src/http/setup/facts.ts";
import { snapshot } from "../../merge/fixtures.ts";
import { twoClusters } from "../../resolve/world.ts";
import { ORIGIN, type PagesWorld, pagesWorld } from "./pages-world.ts";
import { expectPage, plainText } from "./read-page.ts";

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

describe("/setup", () => {
  it("shows the alias zone by default, the gateway's public address, and an existing name in the zone", async () => {
    expectPage(await world.page("/setup"), [
      "Set up a client for clusterset.test",
      "https://doh.example.org/dns-query{?dns}",
      /^(?!.*set publicUrl)/,
      "<option selected>clusterset.test</option><option>clusterset.local</option>",
      "@192.0.2.1 log.ops.svc.clusterset.test A",
    ]);
    expectPage(await world.page("/setup?zone=CLUSTERSET.local."), ["Set up a client for clusterset.local"]);
    const empty = await pagesWorld([snapshot("east")], everything);
    expectPage(await empty.page("/setup"), ["@192.0.2.1 dns-version.clusterset.test TXT"]);
  });

  it("links to every file that it shows, with the same text", async () => {
    const { html, links } = await world.page("/setup");
    const files = links.filter((link) => /^\/setup\/[^/]+\/[^/]+\?/.test(link));
    const facts = readSetupFacts({ url: "https://doh.example.org", zone: "clusterset.test" });
    const shown = (await clientsFor(facts))
      // Firefox does not accept the self-signed certificate.
      .filter(({ id }) => id !== "firefox")
      .reduce((count, { files: made }) => count + Object.keys(made).length, 0);
    // The certificate is only a link.
    expect(files).toHaveLength(shown + 1);
    for (const link of files) {
      const response = await world.fetch(link);
      expect(response.status, link).toBe(200);
      expect(response.headers.get("cache-control")).toBe("private, no-cache");
      const fileName = link.split("?")[0]!.split("/").at(-1);
      if (fileName?.endsWith(".mobileconfig"))
        expect(response.headers.get("content-type")).toBe("application/x-apple-aspen-config");
      expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${fileName}"`);
      const text = await response.text();
      if (link.startsWith("/setup/certificate/")) continue;
      expect(plainText(html)).toContain(`>${text}</pre>`);
    }
  });

  it("uses the address of the request if none is configured, and says so", async () => {
    const guessing = await pagesWorld(twoClusters());
    expectPage(await guessing.page("/setup"), [`${ORIGIN}/dns-query`, "set publicUrl"]);
  });

  it("rejects an address that DNS over HTTPS cannot have, and says what to do", async () => {
    const origin = "http://doh.example";
    const clear = await pagesWorld(twoClusters(), { origin });
    expectPage(await clear.page("/setup"), ["set publicUrl to the gateway's https address"], 404);
    expect((await clear.fetch("/setup/chromium/clusterset-doh.json")).status).toBe(404);
    const behindProxy = await pagesWorld(twoClusters(), { origin, publicUrl: "https://doh.example" });
    expectPage(await behindProxy.page("/setup"), ["https://doh.example/dns-query"]);
  });

  it("offers the self-signed certificate, and explains if there is none", async () => {
    const response = await world.fetch("/setup/certificate/certificate.crt");
    expect(await response.text()).toBe(everything.gatewayAddresses().certificate);
    const other = await pagesWorld([]);
    expect((await other.fetch("/setup/certificate/certificate.crt")).status).toBe(404);
    expect((await other.page("/setup")).text).not.toContain("self-signed");
  });
});
