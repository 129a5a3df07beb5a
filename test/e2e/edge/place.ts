import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../harness/cli.ts";
import { freePort } from "../servers/ports.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { type DevProcess, startDev } from "./harness/dev-process.ts";
import { builtWorker, NAME, type WorkerProcess } from "./wrangler.ts";

/**
 * The same Worker in another workerd, as in a location where the object is not: its object is that of
 * `primary`.
 */
export async function startPlace(primary: WorkerProcess): Promise<DevProcess> {
  const folder = temporaryFolder("place");
  const name = `${NAME}-elsewhere`;
  const configuration = join(folder, "wrangler.toml");
  writeFileSync(configuration, elsewhere(readFileSync(join(checkout, "wrangler.toml"), "utf8"), name));
  const { variables, registry, tokenFileFor } = primary;
  const port = await freePort();
  const script = await builtWorker();
  return startDev({ script, configuration, name, variables, folder, registry, port, tokenFileFor });
}

/** The configuration of a Worker whose object is another Worker's. */
function elsewhere(configuration: string, name: string): string {
  const changes: [RegExp, string][] = [
    [/^name = .*$/m, `name = "${name}"`],
    [/^(class_name = .*)$/m, `$1\nscript_name = "${NAME}"`],
    [/^\[assets\]\n(?:\w.*\n)+/m, ""],
    [/^\[\[migrations\]\]\n(?:\w.*\n)+/m, ""],
  ];
  return changes.reduce((text, [pattern, replacement]) => {
    if (!pattern.test(text)) throw new Error(`wrangler.toml has nothing like ${pattern}`);
    return text.replace(pattern, replacement);
  }, configuration);
}
