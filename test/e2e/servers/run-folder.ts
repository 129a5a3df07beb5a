/**
 * For vitest's `globalSetup`: one folder for all temporary folders of a run, since vitest ends its workers by
 * signals.
 */
import { removeFolder, temporaryFolder } from "./tools/folders.ts";

/**
 * Makes the folder once for all projects of a run, passes it to the workers, and returns a function that
 * removes it.
 */
export default function setup(): () => void {
  if (process.env.E2E_RUN_FOLDER !== undefined) return () => {};
  const folder = temporaryFolder("run");
  process.env.E2E_RUN_FOLDER = folder;
  return () => removeFolder(folder);
}
