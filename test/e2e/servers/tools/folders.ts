import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = new Set<string>();

/** A new temporary folder, removed at exit at the latest; in a test run, in that of the run. */
export function temporaryFolder(name: string): string {
  if (folders.size === 0) process.once("exit", () => folders.forEach(removeFolder));
  const folder = mkdtempSync(join(process.env.E2E_RUN_FOLDER ?? tmpdir(), `clusterset-doh-e2e-${name}-`));
  folders.add(folder);
  return folder;
}

/** Removes a temporary folder; with KEEP_E2E_FOLDERS set it stays, to look at the logs in it. */
export function removeFolder(folder: string): void {
  folders.delete(folder);
  if (!process.env.KEEP_E2E_FOLDERS) rmSync(folder, { recursive: true, force: true });
}
