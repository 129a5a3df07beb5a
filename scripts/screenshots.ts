/**
 * `npm run screenshots`: starts the demo and a headless Chromium (`CHROMIUM`, default: `chromium` on the
 * PATH), and takes the pictures in `docs/images/` again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const PORT = 8743;
/** CSS pixels. */
const WIDTH = 1080;
const PICTURES: readonly (readonly [file: string, path: string, height: number])[] = [
  ["grid.png", "/", 1300],
  ["look-up.png", "/?name=web.shop.svc.clusterset.test&type=A", 1160],
  ["service.png", "/services/shop/api", 1300],
  ["cluster.png", "/clusters/cluster-b", 900],
];

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-screenshots-"));
const cli = join(root, "bin", "clusterset-doh.js");
const demo = spawn(process.execPath, [cli, "demo", "--listen", `localhost:${PORT}`, "--state-dir", folder], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  for await (const line of createInterface({ input: demo.stdout })) if (line.startsWith("Stop")) break;
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  for (const [file, path, height] of PICTURES) {
    const page = await browser.newPage({
      ignoreHTTPSErrors: true,
      colorScheme: "light" as const,
      viewport: { width: WIDTH, height },
    });
    await page.goto(`https://localhost:${PORT}${path}`);
    await page.screenshot({ path: join(root, "docs", "images", file) });
    await page.close();
    console.log(`docs/images/${file}`);
  }
  await browser.close();
} finally {
  demo.kill("SIGTERM");
  if (demo.exitCode === null) await once(demo, "exit");
  rmSync(folder, { recursive: true });
}
