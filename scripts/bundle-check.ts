/**
 * `npm run check:bundle`: bundles the Worker as `wrangler deploy` does, says how large it is and of what, and
 * fails where code for Node reaches it, or where it is larger than `MOST_COMPRESSED`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import type { Metafile } from "esbuild";
import { type BundlePart, findIntruders, modulesOf, packagesOf } from "./bundle-report.ts";

/** The Worker, bundled. */
export interface WorkerBundle {
  readonly script: Uint8Array;
  readonly metafile: Metafile;
}

/** Bytes after compression: little more than the Worker has. */
export const MOST_COMPRESSED = 212_500;
const LARGEST = 10;

/** Bundles what a wrangler configuration names. @throws {Error} with wrangler's own words where it cannot */
export function bundleWorker(config: string): WorkerBundle {
  const wrangler = join(
    dirname(createRequire(import.meta.url).resolve("wrangler/package.json")),
    "wrangler-dist/cli.js",
  );
  const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-bundle-"));
  try {
    const metafile = join(folder, "metafile.json");
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [
        "--no-warnings",
        wrangler,
        "deploy",
        "--dry-run",
        "--config",
        config,
        "--outdir",
        folder,
        "--metafile",
        metafile,
      ],
      { cwd: dirname(config), encoding: "utf8", env: { ...process.env, WRANGLER_SEND_METRICS: "false" } },
    );
    if (status !== 0) throw new Error(`wrangler could not bundle the Worker:\n${stdout}${stderr}`);
    const { outputs, inputs } = JSON.parse(readFileSync(metafile, "utf8")) as Metafile;
    const [script] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint !== undefined) ?? [];
    if (script === undefined) throw new Error("wrangler made no script");
    return { script: readFileSync(join(folder, basename(script))), metafile: { outputs, inputs } };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What there is to say of a bundle, and what is wrong with it. */
export function describeBundle({ script, metafile }: WorkerBundle): {
  readonly lines: readonly string[];
  readonly errors: readonly string[];
} {
  const compressed = gzipSync(script).length;
  const errors = findIntruders(metafile).map(
    ({ what, chain }) => `${what} must not reach the Worker:\n${chain.map(indented).join("\n")}`,
  );
  if (compressed > MOST_COMPRESSED)
    errors.push(`the Worker has ${compressed} bytes compressed; at most ${MOST_COMPRESSED} are allowed`);
  return {
    lines: [
      `the Worker: ${kilobytes(script.length)}, ${kilobytes(compressed)} compressed`,
      "by package and stage, before compression:",
      ...packagesOf(metafile).slice(0, LARGEST).map(partLine),
      "its largest modules:",
      ...modulesOf(metafile).slice(0, LARGEST).map(partLine),
    ],
    errors,
  };
}

function indented(step: string, depth: number): string {
  return `  ${"  ".repeat(depth)}${depth === 0 ? "" : "imports "}${step}`;
}

function partLine({ name, bytes }: BundlePart): string {
  return `${kilobytes(bytes).padStart(12)}  ${name}`;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}

if (import.meta.main) {
  const config = fileURLToPath(new URL("../wrangler.toml", import.meta.url));
  const { lines, errors } = describeBundle(bundleWorker(config));
  for (const line of lines) console.log(line);
  for (const error of errors) console.error(`\n${error}`);
  process.exitCode = errors.length === 0 ? 0 : 1;
}
