import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../run.ts";
import { temporaryFolder } from "./folders.ts";

/** The condition that is changed: kwok v0.8.0 crashes where a client wants a terminal and sends no input. */
const CONDITION = "if tty {";
const CHANGED = "if tty && in != nil {";

/**
 * Copies kwok's module and changes the condition in the copy.
 * @param module the folder of kwok's module in Go's cache
 * @param pinned the folder with go.mod and go.sum
 * @returns flags of `go build` that build it from the copy
 */
export async function changedKwok(module: string, pinned: string): Promise<string[]> {
  const folder = temporaryFolder("kwok");
  const copy = join(folder, "source");
  await run("cp", ["-r", "--no-preserve=mode", module, copy]);
  const source = join(copy, "pkg/kwok/server/debugging_exec.go");
  const parts = (await readFile(source, "utf8")).split(CONDITION);
  if (parts.length !== 2) throw new Error(`${source} has ${CONDITION} ${parts.length - 1} times, not once`);
  await writeFile(source, parts.join(CHANGED));
  const modfile = join(folder, "kwok.mod");
  const pins = await readFile(join(pinned, "go.mod"), "utf8");
  await writeFile(modfile, `${pins}\nreplace sigs.k8s.io/kwok => ${copy}\n`);
  await copyFile(join(pinned, "go.sum"), join(folder, "kwok.sum"));
  return ["-modfile", modfile];
}
