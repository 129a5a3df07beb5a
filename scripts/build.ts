/**
 * `npm run build [-- TSC FLAGS]`: compiles src/ to dist/ with declarations. Node strips no types under node_modules, so a package must
 * hold JavaScript. The Worker is compiled on its own, because its types are not Node's.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
rmSync(`${root}dist`, { recursive: true, force: true });
for (const project of ["tsconfig.build.json", "src/hosts/workers/tsconfig.build.json"]) {
  const { status } = spawnSync(process.execPath, [tsc, "-p", `${root}${project}`, ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  process.exitCode ||= status ?? 1;
}
