import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";
import { checkAccess } from "../../config/check-access.ts";
import { checkFederations } from "../../config/federations.ts";
import { isElsewhere } from "../../config/hosts.ts";
import { readListenFlags } from "../../config/listeners.ts";
import { checkLocationFromHeaders } from "../../config/location.ts";
import { checkDesignatedName, withAlwaysServed } from "../../config/own-names.ts";
import { MOST_THREADS, ServeConfig } from "../../config/settings.ts";
import { listIssues, UsageError } from "../../config/values.ts";
import { editDistance } from "../../explain/near.ts";
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
  const values = { ...file?.values };
  if (flags.listen !== undefined) values.listen = flags.listen;
  if (flags.stateDir !== undefined) values.stateDirectory = flags.stateDir;
  if (flags.store !== undefined)
    values.store = {
      ...(isMapping(values.store) ? values.store : {}),
      url: flags.store,
      sentinel: undefined,
      cluster: undefined,
    };
  if (flags.publicUrl !== undefined) values.publicUrl = flags.publicUrl;
  if (flags.public === true)
    values.access = { ...(isMapping(values.access) ? values.access : {}), public: true };
  if (flags.logLevel !== undefined) values.logLevel = flags.logLevel;
  if (flags.threads !== undefined) values.threads = readThreads(flags.threads);
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
  if (!parsed.success) throw new UsageError(describeIssues(parsed.error, ServeConfig, values, file));
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

function readThreads(text: string): ServeConfig["threads"] {
  const checked = ServeConfig.shape.threads.safeParse(/^\d+$/.test(text) ? Number(text) : text);
  if (checked.success) return checked.data;
  throw new UsageError(
    `--threads ${JSON.stringify(text)} must be auto or a number from 0 to ${MOST_THREADS}`,
  );
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

/** A config file, unchecked. */
interface ConfigFile {
  readonly path: string;
  readonly values: Record<string, unknown>;
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
  const problem = document.errors[0];
  if (problem !== undefined)
    throw new UsageError(`${path}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`);
  const values: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (!isMapping(values)) throw new UsageError(`${path}:1: a config file holds keys and values`);
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
  return { path, values: fromFolder(dirname(path), values) as Record<string, unknown>, lineOf };
}

/** Whether a value is a mapping of YAML, an object of JSON. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const IS_PATH = /^stateDirectory$|File$/;
/** Mappings whose keys are names that users chose. */
const NAMED_ELSEWHERE = new Set(["claims", "jwks"]);

function fromFolder(folder: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => fromFolder(folder, one));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, held]) => {
      if (typeof held === "string") return [key, IS_PATH.test(key) ? resolve(folder, held) : held];
      return [key, NAMED_ELSEWHERE.has(key) ? held : fromFolder(folder, held)];
    }),
  );
}

/** Known keys are listed in a message if there are at most so many. */
const MOST_LISTED = 10;

/** The next step for a key that does not exist: the key that was probably meant, or all keys there. @param path of the key */
function suggestKey(schema: z.ZodType, path: readonly PropertyKey[]): string {
  const wanted = String(path.at(-1));
  const keys = keysAt(schema, path.slice(0, -1));
  const near = keys
    .map((key) => ({ key, distance: distanceOf(wanted, key) }))
    .filter(({ distance }) => distance <= mostOf(wanted))
    .sort((one, other) => one.distance - other.distance);
  if (near.length > 0) return `did you mean ${near[0]!.key}?`;
  if (keys.length > 0 && keys.length <= MOST_LISTED) return `the keys here are ${keys.join(", ")}`;
  return "docs/reference/configuration.md has all keys";
}

/** The longer of two keys may say more (`ttl`, `ttlSeconds`). */
function distanceOf(wanted: string, key: string): number {
  const [one, other] = [wanted.toLowerCase(), key.toLowerCase()];
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const most = mostOf(wanted);
  return short.length >= 3 && long.startsWith(short) ? most : editDistance(one, other, most);
}

/** The most changed characters of a key that was meant. */
function mostOf(wanted: string): number {
  return wanted.length < 4 ? 1 : 2;
}

/** The keys that a schema has at a path; of all alternatives of a union. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let schemas = objectsAndArrays(schema);
  for (const part of path)
    schemas = schemas.flatMap(({ def }) => {
      const inner = def.type === "array" ? def.element : def.shape?.[String(part)];
      return inner === undefined ? [] : objectsAndArrays(inner);
    });
  return [...new Set(schemas.flatMap(({ def }) => keysHere(def.shape ?? {})))];
}

function keysHere(shape: Readonly<Record<string, z.ZodType>>): string[] {
  return Object.keys(shape).filter((key) => !isElsewhere(shape[key]!));
}

/** The part of a schema's definition that is read. */
interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly options?: readonly z.ZodType[];
}

/** The objects and arrays below defaults, unions and transformations. */
function objectsAndArrays(schema: z.ZodType): { readonly def: Definition }[] {
  const def = schema.def as unknown as Definition;
  if (def.type === "object" || def.type === "array") return [{ def }];
  return [def.innerType, def.in, ...(def.options ?? [])].flatMap((inner) =>
    inner === undefined ? [] : objectsAndArrays(inner),
  );
}
