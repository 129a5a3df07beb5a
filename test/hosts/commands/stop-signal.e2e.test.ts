import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";

const module = new URL("../../../src/hosts/commands/process.ts", import.meta.url).href;
const program = `
  const { stopSignal } = await import(${JSON.stringify(module)});
  const stop = stopSignal({ fatal: (_, message) => console.log(message) });
  const busy = setInterval(() => {}, 1000);
  stop.addEventListener("abort", () => { console.log("stopped"); clearInterval(busy); });
  console.log("started " + process.pid);
`;

/** Starts the program in a shell that forwards no signals, like npm; resolves when it runs. */
async function startBelowShell(environment: Record<string, string>) {
  const shell = spawn("sh", ["-c", '"$0" --input-type=module -e "$1"; true', process.execPath, program], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  shell.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  while (!printed.includes("started")) await once(shell.stdout, "data");
  return { shell, pid: Number(/started (\d+)/.exec(printed)![1]), printed: () => printed };
}

describe("stopSignal", () => {
  it("is aborted when the shell of an npm script ends without forwarding SIGTERM", async () => {
    const { shell, printed } = await startBelowShell({ npm_lifecycle_event: "start" });
    shell.kill("SIGTERM");
    await once(shell.stdout, "end");
    expect(printed()).toContain("stopped");
  });
});
