/**
 * `npm run release [-- --dry-run] [--out FOLDER]`: makes everything of a release that needs no account, in
 * dist/release: the package, its bill of materials, checksums, notes, and the plugin of kubectl with its
 * manifest for krew. Exit code 1: the checkout is not ready, and nothing was made. With --dry-run it is made
 * all the same.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { billOfMaterials, installedPackages } from "./bill-of-materials.ts";
import { findObstacles, notesOf } from "./readiness.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { name, version, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly name: string;
  readonly version: string;
  readonly repository: { readonly url: string };
};
const { values } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    out: { type: "string", default: "dist/release" },
  },
});

const obstacles = findObstacles({
  root,
  version,
  repositoryUrl: repository.url,
  tag: process.env.GITHUB_REF_TYPE === "tag" ? process.env.GITHUB_REF_NAME : undefined,
  repository: process.env.GITHUB_REPOSITORY,
  changes: output("git", ["status", "--porcelain"]).trimEnd(),
});
for (const obstacle of obstacles) console.error(`not ready: ${obstacle}`);
if (obstacles.length > 0 && !values["dry-run"]) process.exitCode = 1;
else makeRelease(resolve(root, values.out));

function makeRelease(folder: string): void {
  // Packing compiles, which empties dist/.
  const packing = mkdtempSync(join(root, ".release-"));
  try {
    output("npm", ["pack", "--pack-destination", packing]);
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
    const [tarball] = readdirSync(packing) as [string];
    makePlugin(join(packing, tarball), packing, folder);
    renameSync(join(packing, tarball), join(folder, tarball));
  } finally {
    rmSync(packing, { recursive: true });
  }
  writeFileSync(
    join(folder, `${name}-${version}.cdx.json`),
    `${JSON.stringify(billOfMaterials(root), null, 2)}\n`,
  );
  const notes = notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
  writeFileSync(join(folder, "NOTES.md"), notes ?? `${version} is not in CHANGELOG.md.\n`);
  const sums = readdirSync(folder).map((file) => `${sha256Of(join(folder, file))}  ${file}\n`);
  writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
  console.log(`${folder}:`);
  for (const file of readdirSync(folder)) console.log(`  ${file}`);
  console.log("what needs an account is in .github/workflows/release.yml");
}

/**
 * Makes the archive that krew installs, the package with all packages that it needs, and its manifest.
 * @param packing where the package may be unpacked
 */
function makePlugin(tarball: string, packing: string, folder: string): void {
  const archive = join(folder, `kubectl-clusterset-${version}.tar.gz`);
  // Other packages are in the folders of these.
  const isTop = (path: string) => path.lastIndexOf("node_modules/") === 0 && existsSync(join(root, path));
  output("tar", ["-xzf", tarball, "-C", packing]);
  // krew extracts no links; those in .bin are for npm.
  output("tar", [
    "-czf",
    archive,
    "--exclude=.bin",
    "-C",
    join(packing, "package"),
    ".",
    "-C",
    root,
    ...installedPackages(root).filter(isTop),
  ]);
  const manifest = readFileSync(join(root, "infra/krew/clusterset.yaml"), "utf8")
    .replaceAll("{{version}}", version)
    .replace("{{sha256}}", sha256Of(archive));
  writeFileSync(join(folder, "clusterset.yaml"), manifest);
}

function sha256Of(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function output(command: string, args: readonly string[]): string {
  return execFileSync(command, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 1024 * 1024,
  });
}
