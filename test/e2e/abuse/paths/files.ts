import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Every file and folder below a folder, with its size and mode: `tls/self-signed.key 241 600`. */
export function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const { size, mode } = statSync(join(folder, name));
      return `${name} ${size} ${(mode & 0o777).toString(8)}`;
    })
    .sort();
}
