import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError, ZoneName } from "../../config/values.ts";
import { Reader } from "../../database/reader.ts";
import { DATABASE_VERSION } from "../../database/schema.ts";
import { foldName, formatName, NameError, parseName } from "../../dns/name.ts";
import { type ExtractOptions, extractSnapshot } from "../../extract/extract.ts";
import { ClusterIdError, identifyObject, type KubernetesObject } from "../../extract/objects.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { Pins } from "../../merge/grants.ts";
import type { MergeOptions } from "../../merge/merge-key.ts";
import { DatabaseEntries } from "../../names/database-entries.ts";
import { KeyWorld } from "../../names/key-world.ts";
import { SnapshotRows } from "../../names/snapshot-rows.ts";
import { parseSnapshot } from "../../snapshot/parse.ts";
import type { ClusterSnapshot, ClusterZone } from "../../snapshot/schema.ts";
import { ManifestDirectory, type ManifestObject } from "../../worker/manifests.ts";
import type { ZoneOptions } from "../../zone/zone-plan.ts";
import { DATABASE_FILE, openForReading } from "../node/database.ts";
import { type Grant, grantsFor, pinsFor } from "./flags.ts";

/** @throws {UsageError} if two inputs are of one cluster */
export function entriesOf(snapshots: readonly ClusterSnapshot[]): DatabaseEntries {
  const ids = snapshots.map(({ clusterId }) => clusterId);
  const twice = ids.find((clusterId, index) => ids.indexOf(clusterId) !== index);
  if (twice !== undefined) throw new UsageError(`two inputs have the cluster id ${JSON.stringify(twice)}`);
  return new DatabaseEntries(new SnapshotRows(snapshots), ids);
}

/** The ids of the clusters that report something. */
export function clusterIds(entries: DatabaseEntries): string[] {
  return entries.clusters().map(({ clusterId }) => clusterId);
}

/** What services are merged by. @throws {UsageError} if a grant or a pin is for an unknown cluster */
export function rulesFor(entries: DatabaseEntries, grants: readonly Grant[], pins: Pins = {}): MergeOptions {
  const clusters = clusterIds(entries);
  return { grants: grantsFor(grants, clusters), pins: pinsFor(pins, clusters) };
}

/** @throws {UsageError} if a view is not that of a cluster */
export function checkView(entries: DatabaseEntries, view: string | undefined): void {
  const ids = clusterIds(entries);
  if (view !== undefined && !ids.includes(view))
    throw new UsageError(`--view ${JSON.stringify(view)} is not one of the clusters: ${ids.join(", ")}`);
}

/**
 * What a gateway would answer from, were every cluster live.
 * @throws {UsageError} for zone names that cannot be served
 */
export function openWorld(
  entries: DatabaseEntries,
  rules: MergeOptions,
  options: Partial<ZoneOptions>,
): KeyWorld {
  try {
    return new KeyWorld(entries, options, rules, new Map());
  } catch (error) {
    if (error instanceof NameError || error instanceof RangeError) throw new UsageError(error.message);
    throw error;
  }
}

/** A zone's name in lower case with the trailing dot; undefined for an invalid name. */
export function canonicalZone(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return formatName(foldName(parseName(text)));
  } catch {
    return undefined;
  }
}

/** What a gateway has stored. */
interface StoredState {
  /** Of the clusters that were live, with the order in which they came. */
  readonly entries: DatabaseEntries;
  /** What could not be read. */
  readonly problems: readonly string[];
  close(): void;
}

/**
 * Opens the state folder of a gateway, which may be running: one state is read, whatever it goes on to write.
 * @throws {UsageError} if it is no state folder, or cannot be read
 */
export function openStateFolder(directory: string): StoredState {
  const path = join(directory, DATABASE_FILE);
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined)
      throw new UsageError(
        `--state-dir ${directory} is not the state folder of a gateway: it has no file ${DATABASE_FILE}`,
      );
    const database = openForReading(isOpened(path) ? path : `${pathToFileURL(path)}?immutable=1`);
    try {
      const problems: string[] = [];
      database.exec("BEGIN");
      const reader = new Reader(database, ({ cluster, key }) => {
        problems.push(`a row of cluster ${cluster} is damaged${key === undefined ? "" : `: ${key}`}`);
      });
      if (reader.meta("version") !== String(DATABASE_VERSION))
        throw new Error("another version of clusterset-doh wrote it");
      const live = reader.clusters().flatMap(({ id, state }) => (state === "live" ? id : []));
      return { entries: new DatabaseEntries(reader, live), problems, close: () => database.close() };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`--state-dir ${directory} cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Whether a gateway has the database open, or ended without closing it. Otherwise reading must not write: the
 * folder may be another user's.
 */
function isOpened(path: string): boolean {
  return existsSync(`${path}-wal`);
}

/** The flags for a cluster's own zone. */
export interface ClusterZoneFlags {
  readonly clusterZone?: string | undefined;
  readonly pods?: ClusterZone["pods"] | undefined;
}

/**
 * The zone of the flags, by default without pod names; undefined without the flags.
 * @throws {UsageError} for an invalid name, and for pod names without a zone
 */
export function readClusterZone({ clusterZone, pods }: ClusterZoneFlags): ClusterZone | undefined {
  if (clusterZone === undefined) {
    if (pods === undefined) return undefined;
    throw new UsageError("--pods is for names in the cluster's zone: give the zone with --cluster-zone");
  }
  const name = ZoneName.safeParse(clusterZone);
  if (!name.success)
    throw new UsageError(
      `--cluster-zone ${JSON.stringify(clusterZone)} ${name.error.issues[0]!.message.replace("clusterset.example.org", "cluster.local")}`,
    );
  return { name: name.data, pods: pods ?? "disabled" };
}

/** One cluster to check. */
export interface CheckInput {
  readonly snapshot: ClusterSnapshot;
  /** Problems of the manifests themselves, with file, line and column. */
  readonly problems: readonly string[];
  /** What the manifests have beside what a snapshot uses: `3 Deployment (apps/v1)`. */
  readonly ignored: readonly string[];
  /** `file:line:column` of the finding's object, if it is from a manifest. */
  readonly locate: (finding: ClusterFinding) => string | undefined;
}

/**
 * Reads folders of manifests, and files with one snapshot each as JSON. The cluster id of manifests is
 * `clusterId`, else from the manifests (for example a ClusterProperty), else the folder's name. `clusterZone`
 * is the own zone of clusters from manifests; a snapshot contains its own.
 * @throws {UsageError} if an input cannot be read or is not a snapshot
 */
export async function readCheckInputs(
  inputs: readonly string[],
  clusterId: string | undefined,
  clusterZone: ClusterZone | undefined,
): Promise<CheckInput[]> {
  if (clusterId !== undefined && inputs.length > 1)
    throw new UsageError("--cluster-id names one cluster: give one input, or use the folders' names");
  const read: CheckInput[] = [];
  for (const input of inputs) read.push(await readCheckInput(input, clusterId, clusterZone));
  return read;
}

async function readCheckInput(
  input: string,
  clusterId: string | undefined,
  clusterZone: ClusterZone | undefined,
): Promise<CheckInput> {
  try {
    if (!statSync(input).isDirectory()) {
      const snapshot = parseSnapshot(parseJson(readFileSync(input, "utf8")));
      const named = clusterId === undefined ? snapshot : { ...snapshot, clusterId };
      return { snapshot: named, problems: [], ignored: [], locate: () => undefined };
    }
    const { objects, problems, ignored } = await new ManifestDirectory(input).read();
    if (objects.length === 0 && problems.length === 0)
      throw new UsageError("it has no manifest (*.yaml, *.yml, *.json) of a kind that the worker reads");
    return {
      snapshot: extractNamed(
        objects.map(({ object }) => object),
        { clusterId, clusterZone },
        basename(resolve(input)),
      ),
      problems: problems.map(
        ({ file, line, column, message }) => `${join(input, file)}:${line}:${column}: ${message}`,
      ),
      ignored: Array.from(
        Map.groupBy(ignored, (kind) => kind),
        ([kind, { length }]) => `${length} ${kind}`,
      ),
      locate: locator(input, objects),
    };
  } catch (error) {
    throw new UsageError(`${input}: ${(error as Error).message}`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `a file must be a snapshot in JSON; for manifests give their folder (${(error as Error).message})`,
    );
  }
}

function extractNamed(
  objects: readonly KubernetesObject[],
  options: ExtractOptions,
  folder: string,
): ClusterSnapshot {
  try {
    return extractSnapshot(objects, options);
  } catch (error) {
    if (!(error instanceof ClusterIdError) || error.code !== "CLUSTER_ID_UNKNOWN") throw error;
    return extractSnapshot(objects, { ...options, clusterId: folder });
  }
}

function locator(input: string, objects: readonly ManifestObject[]): CheckInput["locate"] {
  const places = new Map<string, string>();
  for (const { object, file, line, column } of objects) {
    const identity = identifyObject(object);
    if (identity === undefined) continue;
    const place = `${join(input, file)}:${line}:${column}`;
    places.set(`${identity.kind} ${identity.namespace}/${identity.name}`, place);
  }
  return ({ kind, namespace = "", name }) => places.get(`${kind} ${namespace}/${name}`);
}
