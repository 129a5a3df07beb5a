import type { ServeConfig } from "../../config/settings.ts";
import { UsageError } from "../../config/values.ts";
import { RecordType } from "../../dns/name.ts";
import { clustersOfRecord } from "../../explain/explanation.ts";
import { surveyOf } from "../../gateway/survey.ts";
import type { Pins } from "../../merge/grants.ts";
import type { KeyWorld } from "../../names/key-world.ts";
import { type ListedRecord, zoneFileLine } from "../../names/listing.ts";
import { Accounts } from "../../names/services.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import { loadAccess } from "../node/access/node-admission.ts";
import { WatchedFiles } from "../node/files.ts";
import { watchEngineAddress } from "../node/gateway/replica.ts";
import { checkAuditFile, createLogger } from "../node/process.ts";
import { describeExpired, openTlsSource, readCertificates } from "../node/tls.ts";
import { openConnector, openUpstreams } from "../node/upstreams/configured-upstreams.ts";
import { type Grant, readFederationFlag, readGrant, readPins } from "./flags.ts";
import {
  type ClusterZoneFlags,
  checkView,
  clusterIds,
  entriesOf,
  readCheckInputs,
  readClusterZone,
  rulesFor,
} from "./offline-world.ts";
import type { Output } from "./process.ts";
import { type ListedZone, listZones, type ZoneSelection } from "./query.ts";
import { printReport, type ReportFlags } from "./report.ts";
import { describeCounts, describeObjections, locateFinding } from "./status.ts";

/** Flags of `check`. */
export interface CheckFlags extends ClusterZoneFlags, ReportFlags {
  readonly clusterId?: string | undefined;
  readonly zone?: readonly string[] | undefined;
  readonly view?: string | undefined;
  /** `NAME[=ZONE[,DOMAIN]]` each. */
  readonly federation?: readonly string[] | undefined;
  /** `CLUSTER=*` or `CLUSTER=CLUSTER,…` each. */
  readonly speaksFor?: readonly string[] | undefined;
  /** `CLUSTER=SERVICE,…` and `SERVICE=CLUSTER` each. */
  readonly exports?: readonly string[] | undefined;
  readonly owner?: readonly string[] | undefined;
  readonly strict?: boolean | undefined;
}

/**
 * Prints the records that the gateway would serve for the inputs. The exit code is 0 if all exports are
 * served; 1 for problems or findings, or, with `--strict`, conflicts.
 * @throws {UsageError} if an input cannot be read; the command line then exits with 2
 */
export async function check(inputs: readonly string[], flags: CheckFlags, output: Output): Promise<0 | 1> {
  // Flags first: reading a folder may take long.
  const federations = (flags.federation ?? []).map(readFederationFlag);
  const grants = (flags.speaksFor ?? []).map(readGrant);
  const pins = readPins(flags);
  const read = await readCheckInputs(inputs, flags.clusterId, readClusterZone(flags));
  const { zones, clustersOf, ...report } = checkSnapshots(
    read.map(({ snapshot }) => snapshot),
    grants,
    { zones: flags.zone ?? [], view: flags.view, federations },
    pins,
  );
  const problems = read.flatMap((input) => input.problems);
  const findings = report.findings.map((finding) => ({ ...finding, location: locateFinding(read, finding) }));
  const lineOf = (view: string | undefined) => (record: ListedRecord) => {
    const clusters = flags.output === "wide" ? clustersOf(record, view) : [];
    return `${zoneFileLine(record)}${clusters.length > 0 ? ` ; of ${clusters.join(", ")}` : ""}`;
  };
  printReport(
    {
      value: { ...report, zones, findings, problems, ignored: read.flatMap((input) => input.ignored) },
      lines: [
        ...report.records.map(lineOf(flags.view)),
        ...zones.flatMap((zone) => [describeZone(zone), ...zone.records.map(lineOf(zone.view))]),
      ],
    },
    flags,
    output,
  );
  if (flags.output === undefined || flags.output === "wide") {
    for (const [index, { ignored }] of read.entries())
      if (ignored.length > 0) output.err(`not read: ${inputs[index]}: ${ignored.join(", ")}`);
    for (const { service, message } of report.withoutAddress)
      output.err(`no address: ${service}: ${message}`);
    for (const line of describeObjections(read, report.findings, report.conflicts)) output.err(line);
    const counts = {
      cluster: report.clusters.length,
      service: report.services,
      record: zones.reduce((sum, { records }) => sum + records.length, report.records.length),
      problem: problems.length,
      finding: report.findings.length,
      conflict: report.conflicts.length,
    };
    const bare = report.withoutAddress.length;
    output.err(describeCounts(counts) + (bare > 0 ? `; ${bare} of the services without an address` : ""));
  }
  const conflicting = flags.strict === true && report.conflicts.length > 0;
  return problems.length > 0 || report.findings.length > 0 || conflicting ? 1 : 0;
}

function describeZone({ kind, zone, view }: ListedZone): string {
  if (kind === "cluster-local") return `; ${zone} of the cluster ${view}`;
  return `; ${zone}, a federation zone, for ${view === undefined ? "clients outside" : `the cluster ${view}`}`;
}

/**
 * Reads the files that a checked configuration names: certificates, keys, tokens; checks that the one for
 * audit lines can be opened. Writes nothing, listens nowhere, and leaves the state folder alone, so that it
 * can run beside the gateway.
 * @returns a sentence
 * @throws {UsageError} naming the setting or the file that is wrong
 */
export async function checkConfigFiles(config: ServeConfig): Promise<string> {
  const { tls, zones, push, access, store, audit } = config;
  // Without files the gateway makes a certificate itself, in its state folder.
  if (typeof tls === "object" && tls.certificateFile !== undefined) {
    const source = await openTlsSource(config, undefined);
    const expired = source && describeExpired(source.tls.cert, Date.now());
    if (expired !== undefined) throw new UsageError(`tls.certificateFile: ${expired}`);
  }
  if (audit.logFile !== undefined) checkAuditFile(audit.logFile);
  if (typeof tls === "object" && tls.clientCaFile !== undefined) await readCertificates(tls.clientCaFile);
  const files = new WatchedFiles();
  const loaded = await loadAccess(config, files, createLogger("serve", "error"));
  await loaded.close();
  const { sharedToken } = loaded.pushing;
  if (sharedToken !== undefined) throw new UsageError(`push.credentials: ${sharedToken}`);
  if (store !== undefined) await watchEngineAddress(store, new WatchedFiles());
  await openConnector(config.stub, files);
  (await openUpstreams(config.forward, files)).close();
  const clients = access.public === true ? "every client" : `${access.rules.length} access rules`;
  return `the configuration is valid: zones ${zones.join(", ")}; ${push.credentials.length} credentials for pushing; ${clients}`;
}

/**
 * The zones that the gateway would serve, with all problems: merges and compiles snapshots like it.
 * @throws {UsageError} if two snapshots are of one cluster, `view` or a grant names an unknown cluster, or a
 * zone cannot be served
 */
function checkSnapshots(
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
