import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

const open = () => mkdtempSync(join(tmpdir(), "clusterset-doh-test-"));
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

/** A new folder, which is removed when the running test has ended. */
export function folderOfTest(): string {
  const folder = open();
  onTestFinished(() => remove(folder));
  return folder;
}

/** A new folder, which is removed after all tests of the file or of the `describe`. */
export function folderOfTests(): string {
  const folder = open();
  afterAll(() => remove(folder));
  return folder;
}
