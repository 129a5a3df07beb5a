import { writeFileSync } from "node:fs";
import { generateWorld, type WorldSize } from "../../test/worlds/generate.ts";
import type { Load } from "../cpu/h2load.ts";
import { encodeQuery } from "../resolve/cases.ts";

/** What servers hold that are put under load. `service-0` to `service-99` are headless. */
export const LOADED_WORLD: WorldSize = {
  clusters: 2,
  services: 500,
  endpointsPerService: 5,
  headlessShare: 0.2,
  seed: 1,
};

/** ClusterSetIP services whose names have the same length, so that all answers have it. */
export const ASKED = Array.from({ length: LOADED_WORLD.services - 100 }, (_, index) => index + 100);

export const loadedSnapshots = () => generateWorld(LOADED_WORLD);

/** The name of a service by its number. */
export function nameOf(index: number): string {
  return `service-${index}.team-${Math.floor(index / 100)}.svc.clusterset.local`;
}

/** The query for the address of a service by its number. */
export function queryOf(index: number): Uint8Array {
  return encodeQuery(nameOf(index), "A");
}

/**
 * What is asked of a server: every name in turn by GET, or one by POST.
 * @param path a file to write it to
 */
export function prepareLoad(method: "GET" | "POST", url: string, path: string): Load["ask"] {
  if (method === "POST") {
    writeFileSync(path, queryOf(ASKED[0]!));
    return { url, bodyFile: path };
  }
  const lines = ASKED.map((index) => `${url}?dns=${Buffer.from(queryOf(index)).toString("base64url")}\n`);
  writeFileSync(path, lines.join(""));
  return { urlFile: path };
}
