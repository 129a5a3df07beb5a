import type { Mark } from "../names/key-changes.ts";

/** What a primary has beside its state (docs/reference/transfer.md). */
export type PartKind = "world" | "changes" | "key" | "reverse" | "names" | "below" | "claims" | "services";

export const PART_KINDS: readonly PartKind[] = [
  "world",
  "changes",
  "key",
  "reverse",
  "names",
  "below",
  "claims",
  "services",
];

/** What a list of names is of: namespaces; labels of keys in a namespace; pods in a bucket of rows; ranges of addresses that are claimed. */
export type ListKind = "namespaces" | "labels" | "pods" | "ranges";

/** A part, by its kind and what it is of. */
export interface PartName {
  readonly kind: PartKind;
  /** In the order in which a reader writes them. */
  readonly of: Readonly<Record<string, string>>;
}

/** The path of a part. It never has other bytes than those that are right for a state that has this version of it. @param version `markText`, or the hash of a world */
export function partPath({ kind, of }: PartName, version: string, epoch: string, scope: string): string {
  const query = new URLSearchParams({ ...of, v: version, epoch });
  if (scope !== "") query.set("scope", scope);
  return `${kind}?${query}`;
}

/** A mark in a path. */
export function markText({ position, generation }: Mark): string {
  return `${position}-${generation}`;
}

/** Undefined for text that is no mark. */
export function readMark(text: string | undefined): Mark | undefined {
  const [, position, generation] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? [];
  return position === undefined ? undefined : { position: Number(position), generation: Number(generation) };
}
