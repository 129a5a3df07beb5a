/** For vitest's `globalSetup`: one folder for all temporary folders, since workers end by signals. */
import { removeFolder, temporaryFolder } from "./tools/folders.ts";

/** Makes the folder once for all projects and passes it to the workers. @returns what removes it */
export default function setup(): () => void {
  if (process.env.E2E_RUN_FOLDER !== undefined) return () => {};
  const folder = temporaryFolder("run");
  process.env.E2E_RUN_FOLDER = folder;
  return () => removeFolder(folder);
}
