import { existsSync } from "node:fs";
import { join } from "node:path";
import axe, { type AxeResults, type RunOptions } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEADLINE } from "../../deadline.ts";
import { checkout } from "../harness/cli.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { waitFor } from "../servers/wait.ts";

const CLUSTERS = ["cluster-a", "cluster-b"];
const ALIAS = "clusterset.test";
const WEB = `web.shop.svc.${ALIAS}`;

/** Every kind of page, with long texts, conflicts, findings and errors. */
const PAGES = [
  "/",
  `/?name=${WEB}&type=A`,
  `/?name=api.shop.svc.${ALIAS}&type=SRV&view=cluster-b`,
  `/?name=wbe.shop.svc.${ALIAS}&type=A`,
  "/services",
  "/services/shop/web",
  "/services/shop/api",
  "/services/shop/db?view=cluster-a",
  "/services/shop/partner",
  "/services/shop/nothing",
  "/clusters",
  "/clusters/cluster-b",
  "/clusters/none",
  "/conflicts",
  "/setup",
];
/** CSS pixels: WCAG 2.2 section 1.4.10 has 320. Dark pages differ from light ones in their colours alone. */
const APPEARANCES = [
  { colorScheme: "light", width: 320 },
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 1280 },
] as const;

let gateway: GatewayProcess;
let workers: SyncProcess[];
let browser: Browser;

beforeAll(async () => {
  gateway = await startGateway({ clusters: CLUSTERS, zones: [ALIAS] });
  workers = CLUSTERS.map((clusterId) => {
    const manifests = join(checkout, "examples", clusterId);
    expect(existsSync(manifests)).toBe(true);
    return startSync({ manifests, clusterId, gateways: [gateway] });
  });
  await waitFor("both clusters", async () => {
    const { text } = await gateway.http("/readyz");
    expect(text).toContain("2 of 2 clusters live");
    return true;
  });
  browser = await chromium.launch({ executablePath: await ensureTool("chromium"), args: ["--no-sandbox"] });
});
afterAll(async () => {
  await browser?.close();
  for (const worker of workers ?? []) await worker.stop();
  await gateway?.stop();
});

/** Runs something in a page of its own; what its policy blocks, or its scripts throw, fails the test. */
async function onPage(
  path: string,
  run: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
  before: (page: Page) => Promise<void> = async () => {},
): Promise<void> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
  context.setDefaultTimeout(DEADLINE);
  try {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      // A page may be 404, the test of the browser asks for a name that nobody has, and one test aborts
      // requests.
      if (message.type() === "error" && !/404|ERR_NAME_NOT_RESOLVED|ERR_FAILED/.test(message.text()))
        errors.push(message.text());
    });
    await before(page);
    await page.goto(gateway.url + path);
    await run(page);
    expect(errors).toEqual([]);
  } finally {
    await context.close();
  }
}

const RULES = {
  light: {},
  dark: { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } },
} satisfies Record<(typeof APPEARANCES)[number]["colorScheme"], RunOptions>;

describe("in light and dark, 320 and 1280 px wide, has no violation that axe finds, and needs no sideways scrolling", () => {
  test.each(PAGES)("%s", async (path) => {
    await onPage(path, async (page) => {
      // Everything that is folded away counts, too.
      await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      await page.evaluate(axe.source);
      for (const { colorScheme, width } of APPEARANCES) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        const options = JSON.stringify(RULES[colorScheme]);
        const { violations, passes } = await page.evaluate<AxeResults>(`axe.run(document, ${options})`);
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("; ")}`);
        expect(found, `${colorScheme}, ${width} px`).toEqual([]);
        expect(passes.length).toBeGreaterThan(colorScheme === "light" ? 10 : 0);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      }
    });
  });
});

describe("copying", () => {
  const permissions = { permissions: ["clipboard-read", "clipboard-write"] };

  test.each([
    ["a name", "/services/shop/web", `code[data-copy]:text-is("${WEB}")`],
    ["a file on /setup", "/setup", "pre[data-copy]"],
  ])("puts %s as it is into the clipboard, and says so", async (_, path, copied) => {
    await onPage(
      path,
      async (page) => {
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
        const element = page.locator(copied).first();
        const text = (await element.textContent())!;
        const name = (await element.getAttribute("data-copy")) || text;
        await page
          .getByRole("button", { name: `Copy ${name}`, exact: true })
          .first()
          .click();
        await page.getByRole("status").filter({ hasText: "Copied" }).waitFor({ state: "attached" });
        expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text);
      },
      permissions,
    );
  });

  test("selects the name where the clipboard is not allowed", async () => {
    await onPage(
      "/services/shop/web",
      async (page) => {
        await page.getByRole("button", { name: `Copy ${WEB}`, exact: true }).click();
        await page.getByText("Selected: copy it with the keyboard").waitFor({ state: "attached" });
        expect(await page.evaluate("String(getSelection())")).toBe(WEB);
      },
      {},
      async (page) => {
        await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      },
    );
  });
});

describe("refreshing", () => {
  /** Opens a page whose clock stands, and counts its refreshes. */
  const withClock = (
    path: string,
    run: (page: Page, refreshes: () => number) => Promise<void>,
    options: BrowserContextOptions = {},
  ) => {
    let count = 0;
    return onPage(
      path,
      (page) => run(page, () => count),
      options,
      async (page) => {
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);
        page.on("request", (request) => {
          if (request.resourceType() === "fetch") count++;
        });
      },
    );
  };
  const noted = (page: Page) => page.getByText("Refreshed at").waitFor();
  const hide = (page: Page, isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"))`,
    );

  test("shows what the gateway shows by then, every 10 seconds, and keeps the buttons", async () => {
    await withClock("/services/shop/web", async (page, refreshes) => {
      await page.evaluate("document.querySelector('.verdict').replaceChildren('old')");
      await page.clock.runFor(9000);
      expect(refreshes()).toBe(0);
      await page.clock.runFor(1000);
      await noted(page);
      expect(refreshes()).toBe(1);
      expect(await page.locator(".verdict").textContent()).toContain("Answered with 2 addresses.");
      expect(await page.getByRole("button", { name: /^Copy / }).count()).toBeGreaterThan(2);
    });
  });

  test("stops and starts with the button, also on the next page", async () => {
    await withClock("/clusters", async (page, refreshes) => {
      await page.getByRole("button", { name: "Stop refreshing" }).click();
      await page.clock.runFor(60_000);
      expect(refreshes()).toBe(0);
      await page.getByRole("link", { name: "cluster-a" }).click();
      await page.getByRole("button", { name: "Refresh every 10 s" }).waitFor();
      await page.clock.runFor(60_000);
      expect(refreshes()).toBe(0);
      await page.getByRole("button", { name: "Refresh every 10 s" }).click();
      await noted(page);
      expect(refreshes()).toBe(1);
    });
  });

  test("waits in a hidden tab, and comes up at once when it is shown", async () => {
    await withClock("/clusters", async (page, refreshes) => {
      await hide(page, true);
      await page.clock.runFor(60_000);
      expect(refreshes()).toBe(0);
      await hide(page, false);
      await noted(page);
      expect(refreshes()).toBe(1);
    });
  });

  test("does not take the focus or a selection away", async () => {
    await withClock("/clusters", async (page, refreshes) => {
      await page.getByRole("link", { name: "cluster-a" }).focus();
      await page.clock.runFor(30_000);
      expect(refreshes()).toBe(0);
      expect(await page.evaluate("document.activeElement.textContent")).toBe("cluster-a");
      await page.evaluate("document.activeElement.blur()");
      await page.clock.runFor(10_000);
      await noted(page);
    });
  });

  test("starts stopped for those who prefer reduced motion", async () => {
    await withClock(
      "/clusters",
      async (page, refreshes) => {
        await page.getByRole("button", { name: "Refresh every 10 s" }).waitFor();
        await page.clock.runFor(60_000);
        expect(refreshes()).toBe(0);
      },
      { reducedMotion: "reduce" },
    );
  });

  test("says why it fails, and goes on", async () => {
    await withClock("/clusters", async (page) => {
      await page.route("**/clusters", (route) => route.abort());
      await page.clock.runFor(10_000);
      await page.getByText("Not refreshed:").waitFor();
      await page.unroute("**/clusters");
      await page.clock.runFor(10_000);
      await noted(page);
    });
  });
});

test("without scripts a page is complete, and has no button that does nothing", async () => {
  await onPage(
    "/services/shop/web",
    async (page) => {
      expect(await page.locator("main").textContent()).toContain("Answered with 2 addresses.");
      expect(await page.getByRole("button").allTextContents()).toEqual(["Show"]);
      await page.selectOption("#view", "cluster-b");
      await page.getByRole("button", { name: "Show" }).click();
      expect(await page.locator("main").textContent()).toContain("seen from cluster-b");
    },
    { javaScriptEnabled: false },
  );
});

test("the keyboard alone looks a name up, with completion, and comes from the answer to the grid", async () => {
  await onPage("/", async (page) => {
    expect(await page.evaluate("document.activeElement.id")).toBe("name");
    expect(await page.locator(`#names option[value="${WEB}"]`).count()).toBe(1);
    await page.keyboard.type(WEB);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: `${WEB} A` }).waitFor();
    const link = page.getByRole("table").getByRole("link", { name: WEB });
    for (let presses = 0; presses < 60; presses++) {
      if (await page.evaluate("document.activeElement.closest('.grid') !== null")) break;
      await page.keyboard.press("Tab");
    }
    for (let presses = 0; presses < 20; presses++) {
      if ((await page.evaluate("document.activeElement.textContent")) === WEB) break;
      await page.keyboard.press("Tab");
    }
    expect(await link.count()).toBe(1);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/services/shop/web");
  });
});
