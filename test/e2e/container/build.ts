import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { run } from "../servers/run.ts";
import { findProgram } from "../servers/tools/apt.ts";
import type { Stage } from "./dockerfile.ts";

/** Builds a Dockerfile without an engine: stages are folders, and this Node stands for the base image. */
export async function buildImage(
  stages: readonly Stage[],
  checkout: string,
  folder: string,
): Promise<string> {
  const context = join(folder, "context");
  mkdirSync(context);
  buildContext(checkout, context);
  const roots = new Map<string, string>();
  for (const stage of stages) {
    const root = join(folder, stage.name);
    const before = roots.get(stage.from);
    // Links, not copies: Node alone has 120 MB, and no step changes a file in place.
    if (before === undefined) baseImage(stage.from, root);
    else await run("cp", ["--archive", "--link", before, root]);
    roots.set(stage.name, root);
    await carryOut(stage, root, context, roots);
  }
  return roots.get(stages.at(-1)!.name)!;
}

/** Copies what a `.dockerignore` lets into a build's context: `*`, and then paths that are let in. */
function buildContext(checkout: string, target: string): void {
  const lines = readFileSync(join(checkout, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const [first, ...paths] = lines;
  if (first !== "*" || !paths.every((path) => /^![\w./-]+$/.test(path)))
    throw new Error(".dockerignore is no list of paths that are let in");
  for (const path of paths.map((line) => line.slice(1))) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(checkout, path), join(target, path), { recursive: true });
  }
}

/** Debian's layout with Node and npm where the official images have them. */
function baseImage(image: string, root: string): void {
  const [, version] = /^node:([\d.]+)-\w+-slim@sha256:[0-9a-f]{64}$/.exec(image) ?? [];
  if (version !== process.versions.node)
    throw new Error(`these tests run on Node ${process.versions.node}, and the image on ${image}`);
  for (const path of [
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "usr/local/bin",
    "usr/local/lib/node_modules",
  ])
    mkdirSync(join(root, path), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name));
  for (const name of ["etc", "proc", "dev", "tmp", "var/lib"])
    mkdirSync(join(root, name), { recursive: true });
  cpSync(process.execPath, join(root, "usr/local/bin/node"));
  const npm = findProgram("npm");
  if (npm === undefined) throw new Error("there is no npm on PATH");
  const npmPackage = dirname(dirname(realpathSync(npm)));
  cpSync(npmPackage, join(root, "usr/local/lib/node_modules/npm"), { recursive: true, dereference: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm"));
}

async function carryOut(
  stage: Stage,
  root: string,
  context: string,
  roots: Map<string, string>,
): Promise<void> {
  let workdir = "/";
  const absolute = (path: string) => (path.startsWith("/") ? path : join(workdir, path));
  for (const { name, args } of stage.instructions) {
    if (name === "WORKDIR") {
      workdir = absolute(args);
      mkdirSync(join(root, workdir), { recursive: true });
    } else if (name === "COPY") {
      const [, stageName, paths] = /^(?:--from=(\S+) )?(.+)$/.exec(args)!;
      const from = stageName === undefined ? context : roots.get(stageName);
      if (from === undefined) throw new Error(`COPY from ${stageName}, which is no stage`);
      const sources = paths!.split(" ");
      const target = sources.pop()!;
      for (const source of sources)
        copy(join(from, source), join(root, absolute(target)), target.endsWith("/"));
    } else if (name === "RUN") await runStep(root, workdir, args);
    else if (!["LABEL", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD"].includes(name))
      throw new Error(`this test does not know what ${name} does`);
  }
}

/** COPY: the contents of a folder, or a file, into a folder that ends in a slash or to a path of its own. */
function copy(source: string, target: string, intoFolder: boolean): void {
  if (!existsSync(source)) throw new Error(`COPY: ${source} is not there`);
  const to = intoFolder ? join(target, basename(source)) : normalize(target);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(source, to, { recursive: true, verbatimSymlinks: true });
}

const script = readFileSync(join(import.meta.dirname, "run-step.sh"), "utf8");

async function runStep(root: string, workdir: string, command: string): Promise<void> {
  const home = process.env.HOME ?? "/root";
  const cache = (await run("npm", ["config", "get", "cache"])).trim();
  const trust = process.env.NODE_EXTRA_CA_CERTS;
  const given = [join(home, ".npmrc"), ...(trust === undefined ? [] : [trust])].filter(existsSync);
  await run(
    "unshare",
    ["--mount", "--", "sh", "-euc", script, "run-step", root, workdir, command, cache, ...given],
    {
      env: {
        PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        npm_config_prefer_offline: "true",
      },
    },
  );
}
