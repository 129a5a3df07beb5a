import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type * as z from "zod";
import { checkAccess } from "../../config/check-access.ts";
import { checkFederations } from "../../config/federations.ts";
import { readListenFlags } from "../../config/listeners.ts";
import { checkLocationFromHeaders } from "../../config/location.ts";
import { checkDesignatedName, withAlwaysServed } from "../../config/own-names.ts";
import { MOST_THREADS, ServeConfig } from "../../config/settings.ts";
import { suggestKey } from "../../config/suggest-key.ts";
import { listIssues, UsageError } from "../../config/values.ts";
import { isJsonObject, type JsonObject } from "../../snapshot/json-value.ts";
import { CLUSTER_ID_RULE, isClusterId } from "../../snapshot/schema.ts";

/** Flags of `serve`; each overrides the config file. */
interface ServeFlags {
  readonly config?: string | undefined;
  readonly listen?: string | undefined;
  readonly stateDir?: string | undefined;
  /** The URL of Valkey or Redis. */
  readonly store?: string | undefined;
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
  readonly threads?: string | undefined;
}

/**
 * The settings of `serve`: the config file (YAML or JSON), overridden by flags.
 * @throws {UsageError} with each wrong key, its file and its line
 */
export function readServeConfig(flags: ServeFlags): ServeConfig {
  const file = flags.config === undefined ? undefined : readConfigFile(flags.config);
  const values: Record<string, unknown> = { ...file?.values };
  const { shape } = ServeConfig;
  if (flags.listen !== undefined) values.listen = flags.listen;
  if (flags.stateDir !== undefined) values.stateDirectory = flags.stateDir;
  if (flags.store !== undefined)
    values.store = { ...mappingOf(values.store), url: flags.store, sentinel: undefined, cluster: undefined };
  if (flags.publicUrl !== undefined) values.publicUrl = flags.publicUrl;
  if (flags.public === true) values.access = { ...mappingOf(values.access), public: true };
  if (flags.logLevel !== undefined) values.logLevel = flags.logLevel;
  if (flags.threads !== undefined)
    values.threads = readFlag(
      `--threads ${JSON.stringify(flags.threads)}`,
      shape.threads,
      /^\d+$/.test(flags.threads) ? Number(flags.threads) : flags.threads,
      `must be auto or a number from 0 to ${MOST_THREADS}`,
    );
  if (flags.tls === false) values.tls = false;
  if ((flags.tlsCert === undefined) !== (flags.tlsKey === undefined))
    throw new UsageError("--tls-cert and --tls-key go together");
  if (flags.tls === false && flags.tlsCert !== undefined)
    throw new UsageError("--no-tls and --tls-cert exclude each other");
  if (flags.tlsCert !== undefined)
    values.tls = { ...mappingOf(values.tls), certificateFile: flags.tlsCert, keyFile: flags.tlsKey };
  if (flags.clientCaFile !== undefined) {
    if (values.tls === false) throw new UsageError("--client-ca-file needs TLS: there is none");
    values.tls = { ...mappingOf(values.tls), clientCaFile: flags.clientCaFile };
  }
  const parsed = ServeConfig.safeParse(values);
  if (!parsed.success) throw new UsageError(describeIssues(parsed.error, ServeConfig, values, file));
  const config = parsed.data;
  const served = withAlwaysServed(readFlag("--zone", shape.zones, [...config.zones, ...(flags.zone ?? [])]));
  const named = (flags.federation ?? []).flatMap((name) =>
    readFlag(`--federation ${JSON.stringify(name)}`, shape.federations, [{ name }]),
  );
  const federations = [...config.federations, ...named];
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

/**
 * What a flag has, as the schema of its setting reads it.
 * @param says the message. Default: the schema's.
 * @throws {UsageError}
 */
function readFlag<Schema extends z.ZodType>(
  flag: string,
  schema: Schema,
  value: unknown,
  says?: string,
): z.output<Schema> {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw new UsageError(`${flag} ${says ?? checked.error.issues[0]!.message}`);
}

function readClusterToken(text: string): ServeConfig["push"]["credentials"][number] {
  const equals = text.indexOf("=");
  const clusterId = text.slice(0, equals);
  const tokenFile = text.slice(equals + 1);
  const credential = { clusterId, tokenFile };
  if (equals < 0 || tokenFile === "")
    throw new UsageError(
      `--cluster-token ${JSON.stringify(text)} is not CLUSTER_ID=FILE, such as cluster-a=cluster-a.token`,
    );
  if (!isClusterId(clusterId))
    throw new UsageError(
      `--cluster-token: ${JSON.stringify(clusterId)} is not a cluster id: ${CLUSTER_ID_RULE}, such as cluster-a=${tokenFile}`,
    );
  return credential;
}

/**
 * A config file (YAML or JSON) as a schema has it; paths in it are relative to its folder.
 * @throws {UsageError} with each wrong key, its file and its line
 */
export function readConfigOf<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> {
  const file = readConfigFile(path);
  const parsed = schema.safeParse(file.values);
  if (!parsed.success) throw new UsageError(describeIssues(parsed.error, schema, file.values, file));
  return parsed.data;
}

/** In the order of lines. */
function describeIssues(
  error: z.ZodError,
  schema: z.ZodType,
  values: unknown,
  file: ConfigFile | undefined,
): string {
  return listIssues(error)
    .map((issue) => ({ ...issue, line: file?.lineOf(issue.path) }))
    .sort((one, other) => (one.line ?? 0) - (other.line ?? 0))
    .map(({ path, key, line, message, isUnknown }) => {
      const place = file === undefined ? "" : `${file.path}:${line === undefined ? "" : `${line}:`} `;
      const next =
        isUnknown === true
          ? suggestKey(schema, path)
          : /boolean|true/.test(message)
            ? yamlWord(values, path)
            : undefined;
      return `${place}${key || "the file"}: ${message}${next === undefined ? "" : `: ${next}`}`;
    })
    .join("\n");
}

/** What YAML 1.1 took for a truth value; YAML 1.2 (section 10.3.2) does not. */
const TRUTH: Readonly<Record<string, boolean>> = { yes: true, on: true, no: false, off: false };

/** The next step for a word that is text in YAML 1.2, where a truth value was meant. */
function yamlWord(values: unknown, path: readonly PropertyKey[]): string | undefined {
  let value: unknown = values;
  for (const part of path)
    value =
      typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined;
  const meant = typeof value === "string" ? TRUTH[value.toLowerCase()] : undefined;
  return meant === undefined ? undefined : `${value} is text in YAML 1.2, write ${meant}`;
}

/** Aliases of YAML in a config file: nested ones would fill the memory. */
const MOST_ALIASES = 100;

/** A config file, unchecked. */
interface ConfigFile {
  readonly path: string;
  readonly values: JsonObject;
  /** The line of a key, or of the nearest key around it. */
  readonly lineOf: (path: readonly PropertyKey[]) => number | undefined;
}

/**
 * Reads a config file in YAML or JSON. Paths in it are relative to its folder.
 * @throws {UsageError} if it cannot be read, with the line that is not valid YAML
 */
function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read the config file: ${(error as Error).message}`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const invalid = (offset: number, { message }: Error) =>
    new UsageError(
      `${path}:${lines.linePos(offset).line}: this is not valid YAML: ${message}: look at the indentation, brackets and quotes before it`,
    );
  const problem = document.errors[0];
  if (problem !== undefined) throw invalid(problem.pos[0], problem);
  let values: unknown;
  try {
    values = document.toJS({ maxAliasCount: MOST_ALIASES }) ?? {};
  } catch (error) {
    // An alias without an anchor, or too many aliases.
    let offset = 0;
    visit(document, {
      Alias(_, alias) {
        if (alias.resolve(document) !== undefined) return undefined;
        offset = alias.range?.[0] ?? 0;
        return visit.BREAK;
      },
    });
    throw invalid(offset, error as Error);
  }
  if (!isJsonObject(values)) throw new UsageError(`${path}:1: a config file holds keys and values`);
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
  return { path, values: fromFolder(dirname(path), values) as JsonObject, lineOf };
}

function mappingOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

const IS_PATH = /^stateDirectory$|File$/;
/** Mappings whose keys are names that users chose. */
const NAMED_ELSEWHERE = new Set(["claims", "jwks"]);

function fromFolder(folder: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => fromFolder(folder, one));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => {
      if (typeof held === "string") return [key, IS_PATH.test(key) ? resolve(folder, held) : held];
      return [key, NAMED_ELSEWHERE.has(key) ? held : fromFolder(folder, held)];
    }),
  );
}
