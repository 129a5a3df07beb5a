import { type FoldedName, readFoldedName } from "../dns/folded-name.ts";
import { parseName } from "../dns/name.ts";
import { readReverseName } from "../dns/reverse.ts";
import { findSet } from "../zone/record-block.ts";
import type { World } from "../zone/world.ts";
import { readSubject, type Subject } from "./subject.ts";

/** What a world has at a name. */
export interface ServedName {
  /** The clusters that the RRset of a type depends on, empty for none; undefined where there is no such RRset. */
  clustersOf(type: number): readonly string[] | undefined;
  /** Whether it has any record. */
  readonly hasRecords: boolean;
}

/** The folded form of a name in text. @throws {NameError} */
export function foldedName(text: string): FoldedName {
  return readFoldedName(parseName(text), 0)!;
}

/**
 * What a world has at a name in a zone.
 * @param view its index
 * @returns undefined where the name does not exist; `missing` where it is not in memory
 */
export function servedName(
  world: World,
  name: FoldedName,
  { zone, tree }: Subject,
  view: number,
): ServedName | "missing" | undefined {
  const located = world.locate(zone, tree, name, view);
  if (located === undefined) return undefined;
  if ("missing" in located) return "missing";
  const { names, node } = located;
  const list = names.setListOf(node, names.viewOf(world.frame.viewName(view)));
  const { bytes } = names;
  return {
    hasRecords: list !== 0 && bytes[list] !== 0,
    clustersOf(type) {
      const set = list === 0 ? 0 : findSet(bytes, list, type);
      return set === 0 ? undefined : names.leaseGroups[names.leaseGroupOf(set)];
    },
  };
}

/** The clusters that a PTR record depends on; undefined where no name has the address, or it is not in memory. */
function reverseClusters(world: World, name: FoldedName, view: number): readonly string[] | undefined {
  const into = new Uint8Array(16);
  const length = readReverseName(name.bytes, name.length, into);
  if (length === 0) return undefined;
  const target = world.ptrTarget(into.subarray(0, length), view);
  if (target === undefined || "missing" in target) return undefined;
  return target.leased.leaseGroups[target.leaseGroup];
}

/** The clusters that a record of an answer depends on; none for records of the gateway itself. */
export function clustersOfRecord(world: World, owner: string, type: number, view: number): readonly string[] {
  const name = foldedName(owner);
  const subject = readSubject(world.frame, name, view);
  if (subject === undefined) return reverseClusters(world, name, view) ?? [];
  const served = servedName(world, name, subject, view);
  return served === undefined || served === "missing" ? [] : (served.clustersOf(type) ?? []);
}
