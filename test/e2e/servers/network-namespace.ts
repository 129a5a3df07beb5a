import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { run } from "./run.ts";

/** A network namespace of its own, which lasts until `close` or the end of this process. */
export interface NetworkNamespace {
  /** The process that holds it: `ip link set … netns <pid>`. */
  pid: number;
  /** A command line that runs a program in it. */
  command(...line: string[]): [string, ...string[]];
  /** Runs lines of a shell script in it; the first that fails is an error. */
  run(...lines: string[]): Promise<string>;
  close(): void;
}

/**
 * Makes one, whose loopback interface is up. Needs root.
 * @param resolvConf the file that programs in it see as /etc/resolv.conf
 */
export async function startNetworkNamespace(resolvConf = "/etc/resolv.conf"): Promise<NetworkNamespace> {
  const script =
    'mount --bind "$0" /etc/resolv.conf && ip link set lo up && echo ready && exec sleep infinity';
  const holder = spawn(
    "setpriv",
    ["--pdeathsig", "KILL", "--", "unshare", "--net", "--mount", "sh", "-c", script, resolvConf],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await Promise.race([once(holder.stdout, "data"), failed(holder)]);
  const pid = holder.pid!;
  const command = (...line: string[]): [string, ...string[]] => [
    "nsenter",
    "--target",
    String(pid),
    "--net",
    "--mount",
    "--",
    ...line,
  ];
  return {
    pid,
    command,
    run: async (...lines) => {
      const [program, ...args] = command("sh", "-ec", lines.join("\n"));
      return run(program, args);
    },
    close: () => void holder.kill("SIGKILL"),
  };
}

async function failed(holder: ChildProcess): Promise<never> {
  const [code] = await once(holder, "exit");
  throw new Error(`no network namespace: exit ${code}`);
}
