import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";
import { listIssues } from "../settings/config-issues.ts";
import { checkFederations } from "../settings/federation-config.ts";
import { readListenFlags } from "../settings/listener-config.ts";
import { checkLocationFromHeaders } from "../settings/location-settings.ts";
import { ServeConfig } from "../settings/serve-config.ts";
import { withAlwaysServed } from "../settings/served-zones.ts";
import { UsageError } from "../settings/usage-error.ts";

/** Flags of `serve`; each wins over the config file. */
export interface ServeFlags {
  readonly config?: string | undefined;
  readonly listen?: string | undefined;
  readonly stateDir?: string | undefined;
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
  readonly logLevel?: string | undefined;
}

/**
 * The settings of `serve`: the config file (YAML or JSON), with the flags over it.
 * @throws {UsageError} naming each key that is wrong, with the file and line it stands at
 */
export function readServeConfig(flags: ServeFlags): ServeConfig {
  const file = flags.config === undefined ? undefined : readConfigFile(flags.config);
  const values = { ...file?.values };
  if (flags.listen !== undefined) values.listen = flags.listen;
  if (flags.stateDir !== undefined) values.stateDirectory = flags.stateDir;
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
  return {
    ...config,
    zones: served,
    federations,
    dns: { ...config.dns, listen: dns },
    dot: { ...config.dot, listen: dot },
    push: { credentials: [...config.push.credentials, ...(flags.clusterToken ?? []).map(readClusterToken)] },
  };
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

interface ConfigFile {
  readonly path: string;
  readonly values: Record<string, unknown>;
  /** The line that a key stands at, or the nearest key around it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
}

function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the config file: ${(error as Error).message}`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const problem = document.errors[0];
  if (problem !== undefined)
    throw new UsageError(`${path}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`);
  const values: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (typeof values !== "object" || Array.isArray(values))
    throw new UsageError(`${path}:1: a config file holds keys and values, see README.md`);
  const lineOf = (keys: readonly PropertyKey[]): number | undefined => {
    let node: unknown = document.contents;
    let line: number | undefined;
    for (const key of keys) {
      const pair = isMap(node)
        ? node.items.find((item) => isScalar(item.key) && item.key.value === key)
        : undefined;
      const found = isSeq(node) ? node.items[Number(key)] : pair?.key;
      if (isNode(found) && found.range) line = lines.linePos(found.range[0]).line;
      node = isSeq(node) ? found : pair?.value;
    }
    return line;
  };
  return { path, values: fromFolder(dirname(path), values as Record<string, unknown>), lineOf };
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Paths in a config file count from the folder that the file is in. */
function fromFolder(folder: string, values: Record<string, unknown>): Record<string, unknown> {
  const rebase = (object: unknown, keys: readonly string[]): unknown => {
    if (!isMapping(object)) return object;
    const copy = { ...object };
    for (const key of keys) if (typeof copy[key] === "string") copy[key] = resolve(folder, copy[key]);
    return copy;
  };
  const copy = rebase(values, ["stateDirectory"]) as Record<string, unknown>;
  if (isMapping(copy.tls)) copy.tls = rebase(copy.tls, ["certificateFile", "keyFile", "clientCaFile"]);
  for (const key of ["stub", "forward"]) {
    const group = copy[key];
    if (isMapping(group) && Array.isArray(group.upstreams))
      copy[key] = {
        ...group,
        upstreams: group.upstreams.map((upstream) => rebase(upstream, ["caFile", "tokenFile"])),
      };
  }
  for (const key of ["push", "transfer"]) {
    const group = copy[key];
    if (isMapping(group) && Array.isArray(group.credentials))
      copy[key] = {
        ...group,
        credentials: group.credentials.map((credential) => {
          const rebased = rebase(credential, ["tokenFile"]);
          return isMapping(rebased) && isMapping(rebased.oidc)
            ? { ...rebased, oidc: rebase(rebased.oidc, ["jwksFile", "caFile", "tokenFile"]) }
            : rebased;
        }),
      };
  }
  return copy;
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
