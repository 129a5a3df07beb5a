/** For vitest's `globalSetup`: one folder for all temporary folders of a run, since vitest ends its workers by signals. */
import { removeFolder, temporaryFolder } from "./folders.ts";

/** Makes the folder, passes it to the workers, and returns a function that removes it. */
export default function setup(): () => void {
  const folder = temporaryFolder("run");
  process.env.E2E_RUN_FOLDER = folder;
  return () => removeFolder(folder);
}
