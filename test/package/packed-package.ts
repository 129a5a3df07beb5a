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
export type PackedPackage = ReturnType<typeof packPackage>;

/** Makes a release, and lays the package out with its dependencies beside it, and `more` of the consumer. */
export function packPackage(more: readonly string[] = []) {
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
    .map((entry) => join(entry.parentPath, entry.name).slice(own.length + 1));
  return {
    /** The consumer's folder, with `node_modules`. */
    folder,
    tarball,
    /** The folder of the release: the tarball, and what goes with it. */
    release,
    /** All files of the package, relative to its folder. */
    files,
    /** Runs `clusterset-doh` of the package to its end. */
    run: (...args: string[]) =>
      spawnSync(process.execPath, [join(own, "bin/clusterset-doh.js"), ...args], { encoding: "utf8" }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
