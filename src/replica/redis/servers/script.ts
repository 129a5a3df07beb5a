import { createHash } from "node:crypto";

/** A Lua script, which the engine runs at once: nothing happens between its commands. */
export interface Script {
  readonly text: string;
  /** By which EVALSHA knows it. */
  readonly sha1: string;
}

/** A script of a text. */
export function script(text: string): Script {
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}
