import { Exports, exportLimitsOf, grantsOf, ServicePattern, SpeaksFor } from "../../config/access.ts";
import { Federation, federationOptions } from "../../config/federations.ts";
import { UsageError } from "../../config/values.ts";
import type { Grants, Pins } from "../../merge/grants.ts";
import { ClusterId } from "../../snapshot/schema.ts";
import type { GatewayAccess } from "../../worker/gateway-client.ts";
import type { FederationOptions } from "../../zone/zone-plan.ts";
import { readTokenAtOnce } from "../node/files.ts";
import { readCertificates, readIdentity } from "../node/tls.ts";

/**
 * Reads `--federation NAME[=ZONE[,DOMAIN]]`. The default of ZONE is `federation`; an empty one means no zone.
 * @throws {UsageError} for an invalid federation
 */
export function readFederationFlag(text: string): FederationOptions {
  const [, name, zone, domain] = /^([^=]*)(?:=([^,]*)(?:,(.*))?)?$/s.exec(text) ?? [];
  return readFederation(`--federation ${JSON.stringify(text)}`, {
    name,
    ...(zone !== undefined && { zone: zone === "" ? false : zone }),
    ...(domain !== undefined && { domain }),
  });
}

/**
 * A federation from flags; error messages start with `flag`.
 * @throws {UsageError} for an invalid federation
 */
export function readFederation(flag: string, given: object): FederationOptions {
  const checked = Federation.safeParse(given);
  if (checked.success) return federationOptions([checked.data])[0]!;
  const { path, message } = checked.error.issues[0]!;
  throw new UsageError(`${flag}: its ${path.join(".")} ${message}`);
}

/** Flags of commands that connect to gateways. */
export interface GatewayFlags {
  readonly tokenFile?: string | undefined;
  readonly clientCertFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/**
 * Credentials and trust for gateways. The credentials are read again for each request: a mounted Secret
 * changes while a worker runs.
 * @throws {UsageError} if a flag or a file is missing
 */
export async function readAccess(flags: GatewayFlags): Promise<GatewayAccess> {
  const { tokenFile, clientCertFile: certificate, clientKeyFile: key, caFile } = flags;
  const ca = caFile === undefined ? undefined : await readCertificates(caFile);
  const clientCertificate =
    certificate === undefined || key === undefined ? undefined : () => readIdentity(certificate, key);
  if (clientCertificate === undefined && certificate !== key)
    throw new UsageError("--client-cert-file and --client-key-file go together");
  const token = tokenFile === undefined ? undefined : () => readTokenAtOnce(tokenFile);
  // Missing credentials are an error at the start.
  token?.();
  await clientCertificate?.();
  return { ca, clientCertificate, token };
}

/**
 * The address of a gateway.
 * @param option that has it. @param hint what an error says beside that
 * @throws {UsageError} for any other text
 */
export function readGatewayUrl(option: string, text: string, hint = ""): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.username === "")
    return url;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is not an address such as https://doh.example:8443${hint}`,
  );
}

/** Flags with the same meaning as `push.credentials[].exports` and `services` of `serve`. */
export interface PinFlags {
  readonly exports?: readonly string[] | undefined;
  readonly owner?: readonly string[] | undefined;
}

/**
 * The pins of all `--exports CLUSTER=SERVICE,…` and `--owner SERVICE=CLUSTER`.
 * @throws {UsageError} for an invalid one
 */
export function readPins({ exports = [], owner = [] }: PinFlags = {}): Pins {
  return { exports: exportLimitsOf(exports.map(readLimit)), owners: owner.map(readOwner) };
}

function readLimit(text: string): { readonly clusterId: string; readonly exports: string[] } {
  const [clusterId, list] = halves(text);
  const exports = Exports.safeParse(list === "" ? [] : list?.split(","));
  if (ClusterId.safeParse(clusterId).success && exports.success) return { clusterId, exports: exports.data };
  throw new UsageError(
    `--exports ${JSON.stringify(text)} is not CLUSTER=SERVICES such as east=shop,payroll/db`,
  );
}

function readOwner(text: string): { readonly service: string; readonly owner: string } {
  const [service, owner] = halves(text);
  if (ServicePattern.safeParse(service).success && ClusterId.safeParse(owner).success)
    return { service, owner: owner! };
  throw new UsageError(`--owner ${JSON.stringify(text)} is not SERVICE=CLUSTER such as shop/web=east`);
}

function halves(text: string): readonly [string, string | undefined] {
  const at = text.indexOf("=");
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** The grants of an entry of `push.credentials` for `serve`. */
export interface Grant {
  readonly clusterId: string;
  readonly speaksFor: "*" | string[];
}

/** `--speaks-for CLUSTER=*` or `--speaks-for CLUSTER=CLUSTER,…`. @throws {UsageError} for an invalid grant */
export function readGrant(text: string): Grant {
  const [, clusterId, clusters] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  const speaksFor = SpeaksFor.safeParse(clusters === "*" ? clusters : (clusters?.split(",") ?? []));
  if (clusterId !== undefined && speaksFor.success) return { clusterId, speaksFor: speaksFor.data };
  throw new UsageError(`--speaks-for ${JSON.stringify(text)} is not a grant such as hub=* or hub=east,west`);
}

/** The grants, which must be for clusters of `clusters`. @throws {UsageError} for another one */
export function grantsFor(grants: readonly Grant[], clusters: readonly string[]): Grants {
  for (const { clusterId } of grants) checkKnown("--speaks-for", clusterId, clusters);
  return grantsOf(grants);
}

/**
 * The pins, whose exports must be of clusters of `clusters`; an owner that does not export the service is a
 * finding.
 * @throws {UsageError} for another one
 */
export function pinsFor(pins: Pins, clusters: readonly string[]): Pins {
  for (const clusterId of pins.exports?.keys() ?? []) checkKnown("--exports", clusterId, clusters);
  return pins;
}

function checkKnown(flag: string, clusterId: string, clusters: readonly string[]): void {
  if (!clusters.includes(clusterId))
    throw new UsageError(
      `${flag} ${clusterId}: ${JSON.stringify(clusterId)} is not one of the clusters: ${clusters.join(", ")}`,
    );
}
