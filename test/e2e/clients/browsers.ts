import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEADLINE } from "../../deadline.ts";
import { ServerProcess } from "../servers/process.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { withPrivateFiles } from "./private-files.ts";

/** A browser's start: what the machine's `/etc` has for it, and the certificate that it trusts. */
export interface BrowserSettings {
  readonly etc: Readonly<Record<string, string>>;
  readonly certificateFile: string;
  /** In NSS's notation: `C,,` for an authority, `P,,` for a server's own. */
  readonly trust: "C,," | "P,,";
}

/** The system's resolver never answers: names are found by DNS over HTTPS, or not at all. */
const NO_RESOLVER = { "resolv.conf": "nameserver 127.0.0.9\n" };

/** Opens a page in Chromium and gives its document as it is after some seconds of the page's own time. */
export async function openInChromium(url: string, settings: BrowserSettings): Promise<string> {
  const folder = temporaryFolder("chromium");
  await ensureTool("chromium");
  const database = join(folder, ".pki", "nssdb");
  await trust(database, settings);
  const { command, args } = withPrivateFiles({
    folder,
    command: "timeout",
    args: [
      "--signal=KILL",
      String(DEADLINE / 1000),
      "chromium",
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      `--user-data-dir=${join(folder, "profile")}`,
      "--virtual-time-budget=15000",
      "--dump-dom",
      url,
    ],
    etc: { ...NO_RESOLVER, ...settings.etc },
  });
  return run("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], { env: { HOME: folder } });
}

/** Opens a page in Firefox; `stop` ends it. */
export async function openInFirefox(url: string, settings: BrowserSettings): Promise<ServerProcess> {
  await ensureTool("firefox-esr");
  const folder = temporaryFolder("firefox");
  const profile = join(folder, "profile");
  await trust(profile, settings);
  // What a new profile does first has nothing to do with names.
  const first = [
    "browser.aboutwelcome.enabled",
    "datareporting.policy.dataSubmissionEnabled",
    "network.captive-portal-service.enabled",
    "network.connectivity-service.enabled",
  ];
  writeFileSync(join(profile, "user.js"), first.map((name) => `user_pref("${name}", false);\n`).join(""));
  const { command, args } = withPrivateFiles({
    folder,
    command: "firefox-esr",
    args: ["--headless", "--no-remote", "--profile", profile, url],
    etc: { ...NO_RESOLVER, ...settings.etc },
  });
  const browser = new ServerProcess({
    name: "firefox",
    command,
    args,
    folder,
    env: { HOME: folder },
    ready: async () => true,
  });
  browser.spawn();
  return browser;
}

async function trust(database: string, { certificateFile, trust: trusted }: BrowserSettings): Promise<void> {
  await ensureTool("certutil");
  mkdirSync(database, { recursive: true });
  await run("certutil", ["-N", "-d", `sql:${database}`, "--empty-password"]);
  await run("certutil", [
    "-A",
    "-d",
    `sql:${database}`,
    "-n",
    "gateway",
    "-t",
    trusted,
    "-i",
    certificateFile,
  ]);
}
