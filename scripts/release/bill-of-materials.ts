import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The parts of a lock file that are read here. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/**
 * What the package installs, as CycloneDX, made by `npm sbom` from the lock file. `--omit=dev` would leave
 * out packages that development tools need, too (npm 11), so npm gets a lock file without these tools.
 * @param root the checkout
 */
export function billOfMaterials(root: string): object {
  const { devDependencies: _, name, ...manifest } = readJson<Record<string, unknown>>(root, "package.json");
  const lock = readJson<Lock>(root, "package-lock.json");
  const { devDependencies: __, ...own } = lock.packages[""] as Record<string, unknown>;
  const installed = installedPackages(root).map((path) => [path, lock.packages[path]]);
  const packages = { "": own, ...Object.fromEntries(installed) };
  const temporary = mkdtempSync(join(tmpdir(), "clusterset-doh-bill-"));
  // npm takes the name of the folder.
  const folder = join(temporary, String(name));
  try {
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name, ...manifest }));
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lock, packages }));
    const args = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"];
    const options = { cwd: folder, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 } as const;
    return JSON.parse(
      execFileSync("npm", args, { ...options, stdio: ["ignore", "pipe", "inherit"] }),
    ) as object;
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** The folders of the packages that the package installs, as the lock file has them. */
export function installedPackages(root: string): string[] {
  const { packages } = readJson<Lock>(root, "package-lock.json");
  return Object.entries(packages).flatMap(([path, { dev }]) => (path === "" || dev === true ? [] : path));
}

function readJson<Value>(root: string, file: string): Value {
  return JSON.parse(readFileSync(join(root, file), "utf8")) as Value;
}
