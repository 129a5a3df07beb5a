import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStateDatabase } from "../../../src/hosts/node/database/state-database.ts";

it("a state folder belongs to a process while it lives, and to another one after kill -9", async () => {
  const folder = mkdtempSync(join(tmpdir(), "folder-lock-"));
  const program = join(import.meta.dirname, "holding-program.ts");
  const open = () => openStateDatabase(folder, () => {});
  const holder = spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] });
  await once(holder.stdout, "data");
  for (let time = 0; time < 2; time++)
    await expect(open()).rejects.toMatchObject({
      code: "STATE_DIRECTORY_IN_USE",
      message: expect.stringContaining(`is in use by process ${holder.pid}: stop that gateway`),
    });
  holder.kill("SIGKILL");
  await once(holder, "exit");
  (await open()).close();
  rmSync(folder, { recursive: true });
});
