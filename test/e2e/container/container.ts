import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { kill } from "node:process";
import { ServerProcess } from "../servers/process.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import type { ImageConfig } from "./dockerfile.ts";

/** An image that `buildImage` made: its folder, and its process settings. */
export interface Image {
  root: string;
  config: ImageConfig;
}

export interface ContainerOptions {
  name: string;
  args: readonly string[];
  entrypoint?: readonly string[];
  /** Folders of this machine by their paths in the container, read-only. */
  mounts?: Record<string, string>;
  /** A folder of this machine for the image's volume; without one nothing at all can be written. */
  volume?: string;
  ready?: () => Promise<boolean>;
}

/** Adds what base image and engine would: Node's libraries, `/etc/hosts` and `/etc/resolv.conf`. */
export async function finishImage(root: string): Promise<void> {
  const libraries = await run("ldd", [join(root, "usr/local/bin/node")]);
  for (const [path] of libraries.matchAll(/\/lib\S+/g)) {
    const target = join(root, "usr", path.replace(/^\/usr\//, "/"));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(path, target);
  }
  for (const name of ["hosts", "resolv.conf"])
    writeFileSync(join(root, "etc", name), readFileSync(join("/etc", name)));
}

export type Container = Awaited<ReturnType<typeof startContainer>>;

const script = readFileSync(join(import.meta.dirname, "run-container.sh"), "utf8");

/** Runs an image as infra/kubernetes does: its user, a read-only root, no privileges to be gained. */
export async function startContainer({ root, config }: Image, options: ContainerOptions) {
  const { name, args, entrypoint = config.entrypoint, mounts = {}, volume, ready } = options;
  const volumes = volume === undefined ? {} : { [config.volumes[0]!]: volume };
  for (const path of Object.keys(mounts)) mkdirSync(join(root, path), { recursive: true });
  const bound = [
    ...Object.entries(mounts).map(([path, folder]) => `ro:${folder}:${path}`),
    ...Object.entries(volumes).map(([path, folder]) => `rw:${folder}:${path}`),
  ];
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const environment = Object.entries({ PATH: path, ...config.env });
  const [uid, gid] = config.user.split(":");
  const process = await ServerProcess.start({
    name,
    command: "unshare",
    args: [
      "--mount",
      "--pid",
      "--fork",
      "--kill-child",
      "--",
      "sh",
      "-euc",
      script,
      "run-container",
      root,
      String(bound.length),
      ...bound,
      "env",
      "-i",
      ...environment.map(([key, value]) => `${key}=${value}`),
      "setpriv",
      "--no-new-privs",
      "unshare",
      `--root=${root}`,
      `--wd=${config.workdir}`,
      `--setgid=${gid}`,
      `--setuid=${uid}`,
      ...entrypoint,
      ...args,
    ],
    folder: temporaryFolder(name),
    ready: ready ?? (async () => true),
  });
  const ended = async () => {
    await process.ended();
    return process.exitCode;
  };
  return {
    log: () => process.log(),
    ended,
    /** SIGTERM to the program, which signals to the namespaces' keeper do not reach. */
    stop: async () => {
      const shell = childOf(process.pid);
      const program = childOf(shell);
      if (program !== undefined) kill(program, "SIGTERM");
      return ended();
    },
  };
}

function childOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined;
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  return child === undefined || child === "" ? undefined : Number(child);
}
