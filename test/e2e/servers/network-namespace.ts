import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { run } from "./run.ts";

/** A network namespace until `close` or this process's end. @param resolvConf its /etc/resolv.conf */
export async function startNetworkNamespace(resolvConf = "/etc/resolv.conf") {
  const script =
    'mount --bind "$0" /etc/resolv.conf && ip link set lo up && echo ready && exec sleep infinity';
  const holder = spawn(
    "setpriv",
    ["--pdeathsig", "KILL", "--", "unshare", "--net", "--mount", "sh", "-c", script, resolvConf],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await Promise.race([once(holder.stdout, "data"), failed(holder)]);
  const pid = holder.pid!;
  const within = ["--target", String(pid), "--net", "--mount", "--"];
  const command = (...line: string[]): [string, ...string[]] => ["nsenter", ...within, ...line];
  return {
    /** That of the process that holds it: `ip link set … netns <pid>`. */
    pid,
    /** A command line that runs a program in it. */
    command,
    /** Runs lines of a shell script in it; the first that fails is an error. */
    run: (...lines: string[]) => run("nsenter", [...within, "sh", "-ec", lines.join("\n")]),
    close: () => void holder.kill("SIGKILL"),
  };
}

async function failed(holder: ChildProcess): Promise<never> {
  const [code] = await once(holder, "exit");
  throw new Error(`no network namespace: exit ${code}`);
}
