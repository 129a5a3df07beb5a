/** For vitest's `globalSetup`: one folder for all temporary folders of a run, since vitest ends its workers by signals. */
import { removeFolder, temporaryFolder } from "./folders.ts";

/** Makes the folder, tells the workers, and gives back what removes it. */
export default function setup(): () => void {
  const folder = temporaryFolder("run");
  process.env.E2E_RUN_FOLDER = folder;
  return () => removeFolder(folder);
}
