import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DevProcess } from "./harness/dev-process.ts";

/** Opens the SQLite file in which workerd keeps the object; while it runs only to read. */
export function openObjectFile({ stateDir, process }: DevProcess): DatabaseSync {
  const files = globSync(join(stateDir, "v3/do/*-ClustersetObject/*.sqlite")).filter(
    (path) => basename(path) !== "metadata.sqlite",
  );
  const [file] = files;
  if (file === undefined || files.length > 1)
    throw new Error(`${stateDir} has ${files.length} files of the object`);
  return new DatabaseSync(file, { readOnly: process.isRunning });
}
