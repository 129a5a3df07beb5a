import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { beforeEach, describe, expect, it } from "vitest";
import { demo } from "../../../src/hosts/commands/demo.ts";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { prepareStateFolder, stateFolderFailure } from "../../../src/hosts/node/database.ts";
import { startGateway } from "../../../src/hosts/node/gateway-host.ts";
import { folderOfTest } from "../../folders.ts";

const cli = fileURLToPath(new URL("../../../bin/clusterset-doh.js", import.meta.url));
const silent = pino({ level: "silent" });
let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});

const serving = (stateDir: string) =>
  startGateway(readServeConfig({ listen: "localhost:0", stateDir }), silent);

const showing = (stateDir: string) =>
  demo({ listen: "localhost:0", stateDir }, silent, AbortSignal.abort(), () => {});

describe("a state folder that cannot be written", () => {
  it.each([
    ["is a file", () => join(folder, "file"), "a file is in its place: choose another .* with --state-dir"],
    ["lies below a file", () => join(folder, "file", "state"), "a file is in its place"],
    // Node's recursive mkdir never returns there.
    ["cannot be made", () => "/proc/state", "write there .mount it writable; chown., or choose another"],
  ])("is named with the next step when it %s", async (_, place, next) => {
    writeFileSync(join(folder, "file"), "");
    const said = new RegExp(`^the state folder ${place()} cannot be written: .*${next}`);
    const error = { code: "USAGE", message: expect.stringMatching(said) };
    await expect(serving(place())).rejects.toMatchObject(error);
    await expect(showing(place())).rejects.toMatchObject(error);
  });

  it.each([
    ["EACCES", "write there"],
    ["EROFS", "write there"],
    ["ENOSPC", "make room"],
  ])("is named for %s of any file in it", (code, next) => {
    const error = Object.assign(new Error(`${code}: open`), { code, path: "/state/tls/self-signed.key" });
    expect(stateFolderFailure(error, "/state")?.message).toContain(next);
    expect(stateFolderFailure(error, "/other")).toBeUndefined();
  });

  it("is made with its parents otherwise, for its user alone", async () => {
    const place = join(folder, "a", "b");
    await prepareStateFolder(place);
    await prepareStateFolder(place);
    expect(execFileSync("stat", ["-c", "%a", place], { encoding: "utf8" })).toBe("700\n");
    expect(execFileSync("ls", ["-A", place], { encoding: "utf8" })).toBe("");
  });
});

it("a state folder that another gateway has is named with the process and the next step, and keeps its files", async () => {
  const first = await serving(folder);
  try {
    const before = execFileSync("sha256sum", [first.certificateFile!], { encoding: "utf8" });
    const said = `^the state folder ${folder}: .* is in use by process ${process.pid}: stop that gateway, or choose another folder with --state-dir`;
    const message = expect.stringMatching(new RegExp(said));
    await expect(serving(folder)).rejects.toMatchObject({ code: "USAGE", message });
    await expect(showing(folder)).rejects.toThrow("a second demo needs a --listen of its own, too");
    expect(execFileSync("sha256sum", [first.certificateFile!], { encoding: "utf8" })).toBe(before);
  } finally {
    await first.stop();
  }
});

it("a state folder whose file system does not answer does not keep the process from ending on SIGTERM", async () => {
  // Reading a pipe whose writer writes nothing waits, as a file of a network file system may.
  const path = join(folder, "federations.json");
  execFileSync("mkfifo", [path]);
  const child = spawn(process.execPath, [cli, "serve", "--listen", "localhost:0", "--state-dir", folder]);
  try {
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
    const ended = once(child, "exit");
    await untilRead(path);
    child.kill("SIGTERM");
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(log).toContain("did not stop within 10 s, and is killed: does the file system of its files");
    expect(log).not.toContain("listening");
  } finally {
    child.kill("SIGKILL");
  }
});

/** Resolves when a process reads a pipe; it gets nothing. */
async function untilRead(pipe: string): Promise<void> {
  for (;;) {
    try {
      openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
      return;
    } catch (error) {
      // There is no reader yet (fifo(7)).
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
      await setTimeout(20);
    }
  }
}
