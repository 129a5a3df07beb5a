import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Copies what a `.dockerignore` lets into a build's context. Ours forbids everything (`*`) and then lets
 * paths in, which is all that this knows.
 */
export function buildContext(checkout: string, target: string): void {
  const lines = readFileSync(join(checkout, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const [first, ...paths] = lines;
  if (first !== "*" || !paths.every((path) => /^![\w./-]+$/.test(path)))
    throw new Error(".dockerignore is no list of paths that are let in");
  for (const path of paths.map((line) => line.slice(1))) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(checkout, path), join(target, path), { recursive: true });
  }
}
