import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import type { StubStore } from "../../../forward/stub-zones.ts";
import { FederationName } from "../../../http/federations.ts";
import { writeDurably } from "../durable-file.ts";

const StubFile = z.strictObject({
  formatVersion: z.literal(1),
  federations: z.array(
    z.strictObject({
      name: FederationName,
      nameservers: z.array(z.string().refine((text) => parseNameserver(text) !== undefined)).min(1),
    }),
  ),
});

/** Keeps stub zones in `federations.json` in the state folder. */
export function createStubFile(stateDirectory: string): StubStore {
  const path = join(stateDirectory, "federations.json");
  return {
    async load() {
      let text: string;
      try {
        text = await readFile(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
        throw new UsageError(`cannot read the registered federations: ${(error as Error).message}`);
      }
      const parsed = StubFile.safeParse(parseJson(text));
      if (parsed.success) return parsed.data.federations;
      throw new UsageError(
        `${path} does not hold registered federations (${z.prettifyError(parsed.error)}): fix or remove it, and register them again`,
      );
    },
    async keep(federations) {
      await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
      const text = JSON.stringify({ formatVersion: 1, federations }, undefined, 2);
      await writeDurably(path, Buffer.from(`${text}\n`));
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
