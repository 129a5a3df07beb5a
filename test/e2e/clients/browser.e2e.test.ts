import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { type BrowserSettings, openInChromium } from "./browsers.ts";
import { ALIAS, type GatewayOfAPage, NAME, startGatewayOfAPage, TEXT } from "./gateway-of-a-page.ts";

const LOCAL_NAME = NAME.replace(ALIAS, "clusterset.local");

describe("Chromium with the managed policy of /setup, and no other resolver", () => {
  let world: GatewayOfAPage;
  let settings: BrowserSettings;

  beforeAll(async () => {
    world = await startGatewayOfAPage(false);
    const certificateFile = join(temporaryFolder("certificate"), "certificate.crt");
    writeFileSync(certificateFile, await world.setupFile("certificate/certificate.crt"));
    const policy = await world.setupFile("chromium/clusterset-doh.json");
    settings = {
      etc: { "chromium/policies/managed/clusterset-doh.json": policy },
      certificateFile,
      trust: "P,,",
    };
  });
  afterAll(() => world?.stop());

  test("loads a page at a name in the alias zone", async () => {
    expect(await openInChromium(`http://${NAME}:${world.page.port}/`, settings)).toContain(TEXT);
    expect(world.page.asked.map(({ host }) => host)).toContain(`${NAME}:${world.page.port}`);
  });

  test("does not find the same name below .local, which it never queries", async () => {
    const document = await openInChromium(`http://${LOCAL_NAME}:${world.page.port}/`, settings);
    expect(document).not.toContain(TEXT);
    expect(world.page.asked.filter(({ host }) => host.startsWith(LOCAL_NAME))).toEqual([]);
  });
});
