import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../../servers/run.ts";
import { cached } from "../../servers/tools/cache.ts";

/** Where systemd-resolved is, and the libraries of its own version. */
export interface ResolvedProgram {
  readonly program: string;
  readonly libraries: string;
}

const PACKAGES = ["systemd-resolved", "libsystemd-shared"];

/**
 * Downloads the Debian package and unpacks it into the cache. It is never installed: its installation script
 * would make it the resolver of this machine.
 */
export async function ensureResolved(): Promise<ResolvedProgram> {
  if (process.getuid?.() !== 0)
    throw new Error("systemd-resolved starts as root, in a mount namespace: run this as root");
  const architecture = (await run("dpkg", ["--print-architecture"])).trim();
  const root = await cached(`systemd-resolved-${architecture}`, async (folder) => {
    await run("apt-get", ["download", ...PACKAGES], { cwd: folder });
    for (const name of readdirSync(folder).filter((one) => one.endsWith(".deb")))
      await run("dpkg-deb", ["-x", name, "."], { cwd: folder });
  });
  const programs = ["usr/lib", "lib"].map((folder) => join(root, folder, "systemd/systemd-resolved"));
  const libraries = readdirSync(join(root, "usr/lib")).map((name) => join(root, "usr/lib", name, "systemd"));
  return {
    program: programs.find((path) => existsSync(path))!,
    libraries: libraries.filter((path) => existsSync(path)).join(":"),
  };
}
