import type * as z from "zod";
import { checkAccess } from "../../../config/access/check-access.ts";
import { checkFederations } from "../../../config/federations.ts";
import { readListenFlags } from "../../../config/listeners.ts";
import { checkLocationFromHeaders } from "../../../config/location.ts";
import { checkDesignatedName, withAlwaysServed } from "../../../config/own-names.ts";
import { ServeConfig } from "../../../config/serve-config.ts";
import { listIssues } from "../../../config/values/issues.ts";
import { UsageError } from "../../../config/values/usage-error.ts";
import { type ConfigFile, isMapping, readConfigFile } from "./config-file.ts";

/** Flags of `serve`; each overrides the config file. */
export interface ServeFlags {
  readonly config?: string | undefined;
  readonly listen?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly publicUrl?: string | undefined;
  readonly zone?: readonly string[] | undefined;
  readonly tls?: boolean | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly clientCaFile?: string | undefined;
  /** Names of federations that are served in the zone `federation`. */
  readonly federation?: readonly string[] | undefined;
  /** `CLUSTER_ID=FILE` each. */
  readonly clusterToken?: readonly string[] | undefined;
  /** `HOST:PORT` each. */
  readonly dns?: readonly string[] | undefined;
  readonly dot?: readonly string[] | undefined;
  /** Whether all clients get answers. */
  readonly public?: boolean | undefined;
  readonly logLevel?: string | undefined;
}

/**
 * The settings of `serve`: the config file (YAML or JSON), overridden by flags.
 * @throws {UsageError} with each wrong key, its file and its line
 */
export function readServeConfig(flags: ServeFlags): ServeConfig {
  const file = flags.config === undefined ? undefined : readConfigFile(flags.config);
  const values = { ...file?.values };
  if (flags.listen !== undefined) values.listen = flags.listen;
  if (flags.stateDir !== undefined) values.stateDirectory = flags.stateDir;
  if (flags.publicUrl !== undefined) values.publicUrl = flags.publicUrl;
  if (flags.public === true)
    values.access = { ...(isMapping(values.access) ? values.access : {}), public: true };
  if (flags.logLevel !== undefined) values.logLevel = flags.logLevel;
  if (flags.tls === false) values.tls = false;
  if ((flags.tlsCert === undefined) !== (flags.tlsKey === undefined))
    throw new UsageError("--tls-cert and --tls-key go together");
  const tlsFile = isMapping(values.tls) ? values.tls : {};
  if (flags.tlsCert !== undefined)
    values.tls = { ...tlsFile, certificateFile: flags.tlsCert, keyFile: flags.tlsKey };
  if (flags.clientCaFile !== undefined) {
    if (values.tls === false) throw new UsageError("--client-ca-file needs TLS: there is none");
    values.tls = { ...(isMapping(values.tls) ? values.tls : {}), clientCaFile: flags.clientCaFile };
  }
  const parsed = ServeConfig.safeParse(values);
  if (!parsed.success) throw new UsageError(describeIssues(parsed.error, file));
  const config = parsed.data;
  const zones = [...config.zones, ...(flags.zone ?? [])];
  const checked = ServeConfig.shape.zones.safeParse(zones);
  if (!checked.success) throw new UsageError(`--zone ${checked.error.issues[0]!.message}`);
  const served = withAlwaysServed(zones);
  const federations = [...config.federations, ...(flags.federation ?? []).map(readFederation)];
  checkFederations(federations, served);
  const dns = [...config.dns.listen, ...readListenFlags("--dns", flags.dns ?? [])];
  const dot = [...config.dot.listen, ...readListenFlags("--dot", flags.dot ?? [])];
  if (dot.length > 0 && config.tls === false)
    throw new UsageError("dot.listen (--dot): DNS over TLS needs a certificate, and tls is false (--no-tls)");
  checkLocationFromHeaders(config.location);
  const settings: ServeConfig = {
    ...config,
    zones: served,
    federations,
    dns: { ...config.dns, listen: dns },
    dot: { ...config.dot, listen: dot },
    push: { credentials: [...config.push.credentials, ...(flags.clusterToken ?? []).map(readClusterToken)] },
  };
  checkAccess(settings);
  checkDesignatedName(settings);
  return settings;
}

function readFederation(name: string): ServeConfig["federations"][number] {
  const checked = ServeConfig.shape.federations.safeParse([{ name }]);
  if (checked.success) return checked.data[0]!;
  throw new UsageError(`--federation ${JSON.stringify(name)} ${checked.error.issues[0]!.message}`);
}

function readClusterToken(text: string): ServeConfig["push"]["credentials"][number] {
  const equals = text.indexOf("=");
  const clusterId = text.slice(0, equals);
  const tokenFile = text.slice(equals + 1);
  const credential = { clusterId, tokenFile };
  const checked = ServeConfig.shape.push.safeParse({ credentials: [credential] });
  if (equals < 1 || !checked.success)
    throw new UsageError(`--cluster-token ${JSON.stringify(text)} is not CLUSTER_ID=FILE`);
  return credential;
}

function describeIssues(error: z.ZodError, file: ConfigFile | undefined): string {
  return listIssues(error)
    .map(({ path, key, message }) => {
      const line = file?.lineOf(path);
      const place = file === undefined ? "" : `${file.path}:${line === undefined ? "" : `${line}:`} `;
      return `${place}${key || "the file"}: ${message}`;
    })
    .join("\n");
}
