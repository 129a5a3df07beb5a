import type { ServeConfig } from "../../config/settings.ts";
import { UsageError } from "../../config/values.ts";
import { type ListedRecord, zoneFileLine } from "../../names/listing.ts";
import { loadAccess } from "../node/access/node-admission.ts";
import { WatchedFiles } from "../node/files.ts";
import { readEngineAddress } from "../node/gateway/replica.ts";
import { createLogger } from "../node/process.ts";
import { describeExpired, openTlsSource } from "../node/tls.ts";
import { openConnector, openUpstreams } from "../node/upstreams/configured-upstreams.ts";
import { readCheckInputs } from "./check-input.ts";
import { checkSnapshots } from "./check-report.ts";
import { readFederationFlag, readGrant, readPins } from "./flags.ts";
import { type ClusterZoneFlags, readClusterZone } from "./offline-world.ts";
import type { Output } from "./process.ts";
import type { ListedZone } from "./query.ts";
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
 * Reads the files that a checked configuration names: certificates, keys, tokens. Writes nothing, listens nowhere, and leaves the state folder alone,
 * so that it can run beside the gateway.
 * @returns a sentence
 * @throws {UsageError} naming the setting or the file that is wrong
 */
export async function checkConfigFiles(config: ServeConfig): Promise<string> {
  const { tls, zones, push, access, store } = config;
  // Without files the gateway makes a certificate itself, in its state folder.
  if (typeof tls === "object" && tls.certificateFile !== undefined) {
    const source = await openTlsSource(config, undefined);
    const expired = source && describeExpired(source.tls.cert, Date.now());
    if (expired !== undefined) throw new UsageError(`tls.certificateFile: ${expired}`);
  }
  const files = new WatchedFiles();
  const loaded = await loadAccess(config, files, createLogger("serve", "error"));
  await loaded.close();
  const { sharedToken } = loaded.pushing;
  if (sharedToken !== undefined) throw new UsageError(`push.credentials: ${sharedToken}`);
  if (store !== undefined) await readEngineAddress(store);
  await openConnector(config.stub.upstreams, files);
  (await openUpstreams(config.forward, files)).close();
  const clients = access.public === true ? "every client" : `${access.rules.length} access rules`;
  return `the configuration is valid: zones ${zones.join(", ")}; ${push.credentials.length} credentials for pushing; ${clients}`;
}
