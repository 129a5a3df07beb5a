import { readFileSync } from "node:fs";

/** The version of this package. The path holds for `src/hosts/` and for the packed `dist/hosts/`. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
