import { UsageError } from "../../config/values.ts";
import { foldName, formatName, NameError, parseName } from "../../dns/name.ts";
import type { MergeOptions } from "../../merge/merge-key.ts";
import type { Pins } from "../../merge/pins.ts";
import type { EntryReader } from "../../names/entries.ts";
import { KeyWorld } from "../../names/key-world.ts";
import { SnapshotEntries } from "../../names/snapshot-entries.ts";
import type { ClusterSnapshot } from "../../snapshot/schema.ts";
import type { ZoneOptions } from "../../zone/options.ts";
import { type Grant, grantsFor } from "./flags/speaks-for-flag.ts";

/** @throws {UsageError} if two inputs are of one cluster */
export function entriesOf(snapshots: readonly ClusterSnapshot[]): SnapshotEntries {
  const ids = snapshots.map(({ clusterId }) => clusterId);
  const twice = ids.find((clusterId, index) => ids.indexOf(clusterId) !== index);
  if (twice !== undefined) throw new UsageError(`two inputs have the cluster id ${JSON.stringify(twice)}`);
  return new SnapshotEntries(snapshots);
}

/** The ids of the clusters that report something. */
export function clusterIds(entries: EntryReader): string[] {
  return entries.clusters().map(({ clusterId }) => clusterId);
}

/** What services are merged by. @throws {UsageError} if a grant is for an unknown cluster */
export function rulesFor(entries: EntryReader, grants: readonly Grant[], pins?: Pins): MergeOptions {
  return { grants: grantsFor(grants, clusterIds(entries)), pins };
}

/** @throws {UsageError} if a view is not that of a cluster */
export function checkView(entries: EntryReader, view: string | undefined): void {
  const ids = clusterIds(entries);
  if (view !== undefined && !ids.includes(view))
    throw new UsageError(`--view ${JSON.stringify(view)} is not one of the clusters: ${ids.join(", ")}`);
}

/** What a gateway would answer from, were every cluster live. @throws {UsageError} for zone names that cannot be served */
export function openWorld(
  entries: EntryReader,
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
