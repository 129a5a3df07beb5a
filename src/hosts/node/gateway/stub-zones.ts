import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { stubZoneNames } from "../../../config/federations.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { UsageError } from "../../../config/values.ts";
import { parseNameserver } from "../../../forward/local.ts";
import { type StubStore, StubZones } from "../../../forward/stub-zones.ts";
import { FederationName } from "../../../http/route-table.ts";
import type { Count } from "../../../limits/counters.ts";
import { writeDurably } from "../files.ts";
import type { Logger } from "../process.ts";
import type { openConnector } from "../upstreams/configured-upstreams.ts";

/**
 * Opens the stub zones that are registered in the state folder.
 * @param queries the pending queries of all threads
 * @throws {UsageError} if the stored registrations cannot be read
 */
export async function openStubZones(
  { stub, zones, federations, sourceCluster, stateDirectory }: ServeConfig,
  connect: Awaited<ReturnType<typeof openConnector>>,
  logger: Logger,
  queries: Count,
  store: StubStore = createStubFile(stateDirectory),
): Promise<StubZones> {
  const stubs = await StubZones.open({
    zones: stubZoneNames(stub, federations),
    ownZones: zones,
    store,
    connect,
    optionCode: sourceCluster.option,
    self: sourceCluster.self,
    limits: stub,
    queries,
    onNameserverChange: (federation, nameserver, error) => {
      const place = { federation, nameserver };
      if (error === undefined)
        logger.info({ event: "nameserver-answers", ...place }, `${nameserver} answers again`);
      else
        logger.warn(
          { event: "nameserver-failed", ...place, reason: error.message },
          `${nameserver} did not answer for ${federation}: ${error.message}`,
        );
    },
  });
  if (stubs.size > 0)
    logger.info(
      { event: "federations", names: stubs.list().map(({ name }) => name) },
      "loaded registered federations",
    );
  return stubs;
}

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
function createStubFile(stateDirectory: string): StubStore {
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
      await writeDurably(path, `${text}\n`);
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
