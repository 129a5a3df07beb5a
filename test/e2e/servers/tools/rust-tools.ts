import { createHash } from "node:crypto";
import { copyFile, readFile, rm } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { findProgram } from "./apt.ts";
import { cached } from "./cache.ts";

/** The client of Rust's hyper: Cargo.toml, Cargo.lock with hashes, and its source. */
export const hyperClient = join(import.meta.dirname, "../../clients/http2/hyper");

/**
 * Builds the client of hyper with the crates of its Cargo.lock; returns the program's path. A change of it
 * gets its own folder in the cache.
 */
export async function buildHyperClient(report: Report): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["Cargo.toml", "Cargo.lock", "src/main.rs"])
    hash.update(await readFile(join(hyperClient, file)));
  const name = `hyper-client-${hash.digest("hex").slice(0, 8)}-${platform()}-${arch()}`;
  const folder = await cached(name, async (target) => {
    if (!findProgram("cargo"))
      throw new Error("Rust is needed to build a client, and there is no cargo on PATH");
    report("building the client of hyper (less than a minute)");
    const built = join(target, "target");
    const flags = ["--locked", "--quiet", "--manifest-path", join(hyperClient, "Cargo.toml")];
    await run("nice", ["-n", "10", "cargo", "build", ...flags, "--target-dir", built]);
    await copyFile(join(built, "debug", "hyper-client"), join(target, "hyper-client"));
    await rm(built, { recursive: true });
  });
  return join(folder, "hyper-client");
}
