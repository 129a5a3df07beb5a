import { readFileSync } from "node:fs";
import { encode } from "dns-packet";
import { Agent } from "undici";

/** What a Worker must not do. */
export function greet(): string {
  return `${readFileSync("greeting.txt", "utf8")} ${Agent.name} ${encode({}).length}`;
}
