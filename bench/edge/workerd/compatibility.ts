import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../../../test/e2e/harness/cli.ts";

/** The compatibility date that the Worker is deployed with. */
export const COMPATIBILITY_DATE = readCompatibilityDate();

function readCompatibilityDate(): string {
  const wrangler = readFileSync(join(checkout, "wrangler.toml"), "utf8");
  const date = /^compatibility_date = "([^"]+)"$/m.exec(wrangler)?.[1];
  if (date === undefined) throw new Error("wrangler.toml names no compatibility_date");
  if (/^compatibility_flags/m.test(wrangler))
    throw new Error("wrangler.toml names compatibility_flags: these benchmarks do not pass them on yet");
  return date;
}
