import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { openFileStore } from "../../../src/store/files/file-store.ts";
import type { SnapshotStore } from "../../../src/store/store.ts";
import type { StoreWarning } from "../../../src/store/store-error.ts";

/** An empty directory that is removed when the test is over. */
export function stateDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "clusterset-doh-store-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A file store whose warnings are collected. */
export async function openCollecting(
  directory: string,
): Promise<{ store: SnapshotStore; warnings: StoreWarning[] }> {
  const warnings: StoreWarning[] = [];
  const store = await openFileStore(directory, { onWarning: (warning) => warnings.push(warning) });
  return { store, warnings };
}
