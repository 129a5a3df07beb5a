import { readFileSync } from "node:fs";

/** The version of this package. The path holds for `src/` and for the packed `dist/`. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
