import { RecordType } from "../../dns/name.ts";
import { clustersOfRecord } from "../../explain/explanation.ts";
import { surveyOf } from "../../gateway/survey.ts";
import type { Pins } from "../../merge/grants.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import type { ListedRecord } from "../../names/listing.ts";
import { Accounts } from "../../names/services.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { Grant } from "./flags.ts";
import { checkView, clusterIds, entriesOf, rulesFor } from "./offline-world.ts";
import { listZones, type ZoneSelection } from "./query.ts";

/**
 * The zones that the gateway would serve, with all problems: merges and compiles snapshots like it.
 * @throws {UsageError} if two snapshots are of one cluster, `view` or a grant names an unknown cluster, or a zone cannot be served
 */
export function checkSnapshots(
  snapshots: readonly ClusterSnapshot[],
  grants: readonly Grant[],
  selection: ZoneSelection,
  pins: Pins,
) {
  const entries = entriesOf(snapshots);
  const rules = rulesFor(entries, grants, pins);
  checkView(entries, selection.view);
  const { world, zones } = listZones(entries, rules, selection);
  const { serviceKeys: services, conflicts, findings } = surveyOf(world);
  // All names of the clusterset zone have the same PTR records.
  const records = new Map<string, ListedRecord>();
  for (const { kind, records: listed } of zones)
    if (kind === "clusterset")
      for (const record of listed) records.set(`${record.name} ${record.type} ${record.rdata}`, record);
  return {
    clusters: clusterIds(entries),
    services: services.length,
    /** Services, `<namespace>/<name>`, whose names have no address for any client; with why. */
    withoutAddress: services.flatMap((key) => {
      const message = describeMissing(world, key);
      return message === undefined ? [] : { service: key, message };
    }),
    /** The clusterset zone, once for each of its names. */
    records: [...records.values()],
    /** The other zones: of federations, and of single clusters. */
    zones: zones.filter(({ kind }) => kind !== "clusterset"),
    conflicts,
    findings,
    /** The clusters that a record, with the others of its name and type, depends on. */
    clustersOf: ({ name, type }: ListedRecord, view: string | undefined): readonly string[] =>
      clustersOfRecord(world, name, RecordType[type as keyof typeof RecordType], world.frame.viewOf(view)),
  };
}

/** What gives a service an address; undefined where it has one. */
function describeMissing(world: KeyWorld, key: string): string | undefined {
  const { service } = new Accounts(world).of(key);
  if (service === undefined) return undefined;
  const { type, endpoints, outside, byCluster } = service;
  if (type === "Headless")
    return endpoints.length > 0 ? undefined : `a headless service has those of ready endpoints: ${SLICES}`;
  const has = [outside, ...byCluster.values()].some(({ source }) => source !== "none");
  return has
    ? undefined
    : `none of its clusters reports a ServiceImport with spec.ips, a load balancer, external IPs or a ready endpoint: ${SLICES}`;
}

const SLICES =
  "Kubernetes makes EndpointSlices where pods run, so manifests of Git have none; a worker at the API server (sync) reports them";
