import { stubZoneNames } from "../../../config/federations.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import { type StubStore, StubZones } from "../../../forward/stub-zones.ts";
import type { Count } from "../../../limits/shared/shared-counts.ts";
import type { Logger } from "../logger.ts";
import type { UpstreamConnector } from "../upstreams/connect.ts";
import { createStubFile } from "./stub-file.ts";

/**
 * Opens the stub zones that are registered in the state folder.
 * @param queries the pending queries of all threads
 * @throws {UsageError} if the stored registrations cannot be read
 */
export async function openStubZones(
  { stub, zones, federations, sourceCluster, stateDirectory }: ServeConfig,
  upstreams: UpstreamConnector,
  logger: Logger,
  queries: Count,
  store: StubStore = createStubFile(stateDirectory),
): Promise<StubZones> {
  const stubs = await StubZones.open({
    zones: stubZoneNames(stub, federations),
    ownZones: zones,
    store,
    connect: (nameserver) => upstreams.connect(nameserver),
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
