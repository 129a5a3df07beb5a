import { stringify } from "yaml";
import { UsageError, ZoneName } from "../../config/values.ts";
import { MANAGED_BY_LABEL, OWN_MANAGER } from "../../extract/objects.ts";
import { surveyOf } from "../../gateway/survey.ts";
import { nameOf, namespaceOf } from "../../merge/order.ts";
import { type ListedRecord, listRecords, zoneFileLine } from "../../names/listing.ts";
import { readFederation, readGrant } from "./flags.ts";
import {
  canonicalZone,
  clusterIds,
  entriesOf,
  openWorld,
  readCheckInputs,
  rulesFor,
} from "./offline-world.ts";
import type { Output } from "./process.ts";
import { describeCounts, describeObjections } from "./status.ts";

/** Flags of `export`. */
export interface ExportFlags {
  readonly federation: string;
  /** The registered domain; names for external clients are below it. */
  readonly domain: string;
  readonly format: "zone" | "dnsendpoint" | "headscale";
  readonly clusterId?: string | undefined;
  /** `CLUSTER=*` or `CLUSTER=CLUSTER,…` each. */
  readonly speaksFor?: readonly string[] | undefined;
  /** Seconds. */
  readonly ttl: number;
  /** Host names; the first is the zone's primary. */
  readonly nameServer?: readonly string[] | undefined;
  readonly strict?: boolean | undefined;
}

/**
 * Prints a federation's zone for external clients (federated service discovery, External Clients), for a
 * programmable DNS provider. If a manifest cannot be read it prints nothing, since the provider would
 * delete the missing records; with `--strict` findings and conflicts have the same effect. The exit code is
 * then 1, else 0.
 * @throws {UsageError} if an input cannot be read; the command line then exits with 2
 */
export async function exportFederation(
  inputs: readonly string[],
  flags: ExportFlags,
  output: Output,
  now: number,
): Promise<0 | 1> {
  const given = { name: flags.federation, zone: false, domain: flags.domain };
  const federation = readFederation("--federation and --domain", given);
  const nameServers = (flags.nameServer ?? []).map(readNameServer);
  if (nameServers.length > 0 && flags.format !== "zone")
    throw new UsageError("--name-server is for --format zone: the other formats have no NS records");
  const grants = (flags.speaksFor ?? []).map(readGrant);
  const read = await readCheckInputs(inputs, flags.clusterId, undefined);
  const entries = entriesOf(read.map(({ snapshot }) => snapshot));
  const zone = canonicalZone(federation.domain)!;
  const world = openWorld(entries, rulesFor(entries, grants), {
    federations: [federation],
    ttl: flags.ttl,
    // The serial grows with each export (RFC 1982).
    serial: Math.floor(now / 1000) % 2 ** 32,
  });
  const { serviceKeys, conflicts, findings } = surveyOf(world);
  for (const line of describeObjections(read, findings, conflicts)) output.err(line);
  const broken = read.some(({ problems }) => problems.length > 0);
  if (broken || (flags.strict === true && findings.length + conflicts.length > 0)) {
    output.err("nothing is exported");
    return 1;
  }
  const records = [...listRecords(world, { zone })];
  const ofServices = records.filter(({ type }) => type !== "SOA" && type !== "NS");
  let count = ofServices.length;
  if (flags.format === "zone") {
    for (const record of withNameServers(records, zone, nameServers)) output.out(zoneFileLine(record));
  } else if (flags.format === "dnsendpoint") {
    const objects = describeDnsEndpoints(records, federation.name, serviceKeys);
    for (const object of objects) output.out(`---\n${stringify(object).trimEnd()}`);
  } else {
    const extra = ofServices.filter(({ type }) => type !== "CNAME");
    output.out(JSON.stringify(extra.map(extraRecord), undefined, 2));
    for (const { name, type } of ofServices.filter(({ type }) => type === "CNAME"))
      output.err(`left out: ${name} ${type}: headscale has addresses only`);
    count = extra.length;
  }
  output.err(describeCounts({ cluster: clusterIds(entries).length, record: count }));
  return 0;
}

/** The records with these name servers at the apex; unchanged if none are given. */
function withNameServers(
  records: readonly ListedRecord[],
  zone: string,
  nameServers: readonly string[],
): ListedRecord[] {
  const [primary] = nameServers;
  if (primary === undefined) return [...records];
  return records.flatMap((record) => {
    if (record.name !== zone) return record;
    if (record.type === "SOA") return { ...record, rdata: record.rdata.replace(/^\S+/, primary) };
    return record.type === "NS" ? nameServers.map((rdata) => ({ ...record, rdata })) : record;
  });
}

function readNameServer(text: string): string {
  if (ZoneName.safeParse(text).success) return canonicalZone(text)!;
  throw new UsageError(`--name-server ${JSON.stringify(text)} is not a host name such as ns1.example.org`);
}

/** A record of headscale's `dns.extra_records_path`; Tailscale's clients take A and AAAA records alone. */
function extraRecord({ name, type, rdata }: ListedRecord) {
  return { name: withoutDot(name), type, value: rdata };
}

/** The types that ExternalDNS manages by default; a federation's external zone has no others. */
const MANAGED = new Set(["A", "AAAA", "CNAME"]);
/** The most labels of a cluster id before the service's name. */
const MOST_CLUSTER_LABELS = 2;

/**
 * The records of a federation's external zone as one DNSEndpoint for each service, the input of ExternalDNS's
 * `--source=crd`, named `<service>.<namespace>.<federation>`: a change then affects only one small object,
 * and a deleted service removes its object. Names and targets have no trailing dot, which that source
 * rejects.
 * @param services their keys
 */
export function describeDnsEndpoints(
  records: readonly ListedRecord[],
  federation: string,
  services: readonly string[],
) {
  const known = new Set(services.map((key) => `${nameOf(key)}.${namespaceOf(key)}`));
  const managed = records.filter(({ type }) => MANAGED.has(type));
  const byService = Map.groupBy(managed, ({ name }) => serviceOf(name, federation, known));
  byService.delete(undefined);
  return Array.from(byService, ([service, ofService]) => ({
    apiVersion: "externaldns.k8s.io/v1alpha1",
    kind: "DNSEndpoint",
    metadata: {
      name: `${service}.${federation.toLowerCase()}`,
      labels: { [MANAGED_BY_LABEL]: OWN_MANAGER },
    },
    spec: {
      endpoints: Array.from(
        Map.groupBy(ofService, ({ name, type }) => `${name} ${type}`).values(),
        ([first, ...others]) => ({
          dnsName: withoutDot(first!.name),
          recordType: first!.type,
          recordTTL: first!.ttl,
          targets: [first!, ...others].map(({ type, rdata }) =>
            type === "CNAME" ? withoutDot(rdata) : rdata,
          ),
        }),
      ),
    },
  }));
}

/** `<service>.<namespace>` of a name `[<cluster>.]<service>.<namespace>.<federation>.svc.…`. */
function serviceOf(name: string, federation: string, known: ReadonlySet<string>): string | undefined {
  const labels = name.toLowerCase().split(".");
  for (let at = 0; at <= MOST_CLUSTER_LABELS; at++) {
    const service = labels.slice(at, at + 2).join(".");
    if (labels[at + 2] === federation.toLowerCase() && labels[at + 3] === "svc" && known.has(service))
      return service;
  }
  return undefined;
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, "");
}
