import { join } from "node:path";
import { run } from "../run.ts";
import { cached } from "./cache.ts";

/**
 * Downloads Debian's package of Prometheus and unpacks it into the cache, without its server being installed.
 * @returns the path of promtool
 */
export async function ensurePromtool(): Promise<string> {
  const architecture = (await run("dpkg", ["--print-architecture"])).trim();
  const root = await cached(`prometheus-${architecture}`, async (folder) => {
    await run("apt-get", ["download", "prometheus"], { cwd: folder });
    await run("sh", ["-c", "dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb"], { cwd: folder });
  });
  return join(root, "usr/bin/promtool");
}
