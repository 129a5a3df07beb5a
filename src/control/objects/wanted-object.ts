import { createHash } from "node:crypto";
import { APPLIED, MANAGED_BY, MANAGER } from "./names.ts";

/** An object as it is sent to the API server, and as it comes back. */
export interface ManagedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
  };
  readonly [field: string]: unknown;
}

/** The name of an object for people: with its namespace, if it has one. */
export function nameOf({ metadata: { namespace, name } }: Pick<ManagedObject, "metadata">): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** Whether the control plane made the object. */
export function isManaged({ metadata }: Pick<ManagedObject, "metadata">): boolean {
  return metadata.labels?.[MANAGED_BY] === MANAGER;
}

/** Adds the mark of the control plane and the hash of the whole. */
export function mark(object: ManagedObject): ManagedObject {
  const labels = { ...object.metadata.labels, [MANAGED_BY]: MANAGER };
  const marked = { ...object, metadata: { ...object.metadata, labels } };
  const hash = createHash("sha256")
    .update(JSON.stringify(sorted(marked)))
    .digest("base64url")
    .slice(0, 16);
  return {
    ...marked,
    metadata: { ...marked.metadata, annotations: { ...object.metadata.annotations, [APPLIED]: hash } },
  };
}

/**
 * Whether applying `wanted` would change `actual`. The hash shows fields that were applied once and are not wanted any more; the comparison
 * shows what somebody else changed. Fields that are not ours do not count.
 */
export function differs(wanted: ManagedObject, actual: ManagedObject): boolean {
  return !contains(actual, wanted);
}

/** Whether `whole` has everything that `part` has. Lists are compared element by element; the API server returns an empty one as null, or not at all. */
function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part) && part.length === 0 && (whole === undefined || whole === null)) return true;
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      whole.length === part.length &&
      part.every((element, index) => contains(whole[index], element))
    );
  if (typeof part !== "object" || part === null) return whole === part;
  if (typeof whole !== "object" || whole === null) return Object.keys(part).length === 0;
  return Object.entries(part).every(([key, value]) =>
    contains((whole as Record<string, unknown>)[key], value),
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
