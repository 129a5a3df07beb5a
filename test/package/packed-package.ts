import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The manifest of the package. */
export const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
  readonly repository: { readonly url: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
};

/** A package in a folder of a consumer, as `npm install` lays it out. */
export interface PackedPackage {
  /** The consumer's folder, with `node_modules`. */
  readonly folder: string;
  readonly tarball: string;
  /** The folder of the release: the tarball, and what goes with it. */
  readonly release: string;
  /** All files of the package, sorted, relative to its folder. */
  readonly files: readonly string[];
  /** Runs `clusterset-doh` of the package to its end. */
  run(args: readonly string[]): { readonly status: number | null; stdout: string; stderr: string };
  remove(): void;
}

/**
 * Makes a release of this checkout, and lays the package out with its dependencies beside it, and no others.
 * @param more packages that the consumer has of its own
 */
export function packPackage(more: readonly string[] = []): PackedPackage {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-package-"));
  const release = join(folder, "release");
  const script = join(root, "scripts/release/release.ts");
  execFileSync(process.execPath, [script, "--dry-run", "--out", release], { stdio: "pipe" });
  const tarball = join(release, readdirSync(release).find((name) => name.endsWith(".tgz"))!);
  const modules = join(folder, "node_modules");
  const own = join(modules, "clusterset-doh");
  mkdirSync(own, { recursive: true });
  execFileSync("tar", ["xzf", tarball, "-C", own, "--strip-components=1"]);
  for (const name of [...Object.keys(manifest.dependencies), ...more]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name));
  }
  const files = readdirSync(own, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(own.length + 1))
    .sort();
  return {
    folder,
    tarball,
    release,
    files,
    run: (args) =>
      spawnSync(process.execPath, [join(own, "bin/clusterset-doh.js"), ...args], {
        cwd: folder,
        encoding: "utf8",
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
