// Compiles src/ to dist/: Node strips no types under node_modules, so a package must hold JavaScript.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
rmSync(`${root}dist`, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [tsc, "-p", `${root}tsconfig.build.json`], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
