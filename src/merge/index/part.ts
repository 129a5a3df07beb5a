import { charactersOf, type Packed } from "../../snapshot/held/packed-entry.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import type { ExportedService, ImportedService } from "../../snapshot/schema.ts";
import type { Contribution } from "../service/declaration.ts";

/** Takes the place of an entry that the state of its cluster has, which reads it from a store. */
export const STORED = Symbol("stored");

/** What a cluster contributes to a service, as the index holds it. */
export interface Part extends Pick<Contribution, "clusterId" | "adjusted" | "importedSince"> {
  readonly exported: Packed<ExportedService> | typeof STORED | undefined;
  readonly imported: Packed<ImportedService> | typeof STORED | undefined;
}

/** An entry of a part as the index holds it. */
export type HeldEntry = Packed | typeof STORED | undefined;

/** The collections whose entries are parts of services. */
export const PART_COLLECTIONS = ["exports", "imports"] as const;
export type PartCollection = (typeof PART_COLLECTIONS)[number];

/** A part with its entries. */
export interface PackedPart extends Part {
  readonly exported: Packed<ExportedService> | undefined;
  readonly imported: Packed<ImportedService> | undefined;
  /** Characters of what only exists while it is unpacked: an entry that is held as an object takes no more. */
  readonly characters: number;
}

/** A part with its entries, read from the state of its cluster; undefined where that has none any more. */
export function packedPart(key: string, part: Part, state: HeldState): PackedPart | undefined {
  const exported = part.exported === STORED ? state.packed("exports", key) : part.exported;
  const imported = part.imported === STORED ? state.packed("imports", key) : part.imported;
  if (exported === undefined && imported === undefined) return undefined;
  const characters =
    lengthOf(exported, part.exported === STORED) + lengthOf(imported, part.imported === STORED);
  return { ...part, exported, imported, characters };
}

/**
 * Whether two parts of one cluster say the same. Equal ones are one object: with 100,000 endpoints of 10 clusters, whose entries are stored, the parts
 * of a service take 583 bytes if each is its own, and 126 so.
 */
export function isSamePart(one: Part, other: Part): boolean {
  return (
    one.exported === other.exported &&
    one.imported === other.imported &&
    one.adjusted === other.adjusted &&
    one.importedSince === other.importedSince
  );
}

function lengthOf(packed: Packed | undefined, isStored: boolean): number {
  if (packed === undefined) return 0;
  return typeof packed === "string" || isStored ? charactersOf(packed) : 0;
}

export function isPart(collection: string): collection is PartCollection {
  return collection === "exports" || collection === "imports";
}

/** An entry as the part of a service that it is. */
export function partOf(
  collection: PartCollection,
  entry: HeldEntry,
): Partial<Pick<Part, "exported" | "imported">> {
  return collection === "exports"
    ? { exported: entry as Part["exported"] }
    : { imported: entry as Part["imported"] };
}

/** Parts in which the entry of one of them is held in another way. @param wasStored how it must be held until now */
export function holdOtherwise(
  parts: readonly Part[],
  clusterId: string,
  collection: PartCollection,
  wasStored: boolean,
  entry: HeldEntry,
): readonly Part[] {
  const own = collection === "exports" ? "exported" : "imported";
  return parts.map((part) =>
    part.clusterId === clusterId && part[own] !== undefined && (part[own] === STORED) === wasStored
      ? { ...part, ...partOf(collection, entry) }
      : part,
  );
}
