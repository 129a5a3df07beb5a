import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../harness/answers.ts";
import { type BrowserSettings, openInFirefox } from "./browsers.ts";
import { type GatewayOfAPage, NAME, startGatewayOfAPage } from "./gateway-of-a-page.ts";

describe("Firefox ESR with the policies.json of /setup, and no other resolver", () => {
  let world: GatewayOfAPage;
  let settings: BrowserSettings;

  beforeAll(async () => {
    world = await startGatewayOfAPage(true);
    const policies = await world.setupFile("firefox/policies.json");
    settings = {
      etc: { "firefox/policies/policies.json": policies },
      certificateFile: world.gateway.caFile,
      trust: "C,,",
    };
  });
  afterAll(() => world?.stop());

  test("loads a page at a name in the alias zone", async () => {
    const browser = await openInFirefox(`http://${NAME}:${world.page.port}/`, settings);
    try {
      await eventually(() => world.page.asked).toContainEqual({
        host: `${NAME}:${world.page.port}`,
        userAgent: expect.stringContaining("Firefox"),
      });
    } finally {
      await browser.kill();
    }
  });
});
