import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FORMAT_VERSION } from "../../../src/zone/segment/layout.ts";
import { checkout } from "../harness/cli.ts";
import { buildWorker } from "./wrangler.ts";

/** Bundles the Worker as a release would be whose generations have the next format version. @returns the script */
export async function buildNextFormat(folder: string): Promise<string> {
  const configuration = join(folder, "wrangler.toml");
  const text = readFileSync(join(checkout, "wrangler.toml"), "utf8")
    .replace('main = "', `main = "${checkout}`)
    .replace('directory = "', `directory = "${checkout}`)
    .replace("minify = true", "minify = false");
  writeFileSync(configuration, text);
  const script = await buildWorker(folder, configuration);
  const [now, next] = [FORMAT_VERSION, FORMAT_VERSION + 1].map(
    (version) => `var FORMAT_VERSION = ${version};`,
  ) as [string, string];
  const source = readFileSync(script, "utf8");
  if (source.split(now).length !== 2) throw new Error(`the bundle does not have ${now} once`);
  writeFileSync(script, source.replace(now, next));
  return script;
}
