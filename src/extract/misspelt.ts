import { readText } from "./fields.ts";
import { findKind, KIND_NAMES, type KnownKind } from "./identity.ts";
import type { KubernetesObject } from "./objects.ts";

/** From this length on a name may differ in two letters; shorter names are too similar to each other. */
const LONG_NAME = 9;

/**
 * The probably intended `kind` and `apiVersion` of an object. Undefined if the object counts as it is, and if its kind is unrelated to
 * ours: a Service of another API group, such as Knative's, is unrelated.
 */
export function suggestKind(object: KubernetesObject): string | undefined {
  const kind = readText(object.kind);
  const apiVersion = readText(object.apiVersion);
  if (kind === undefined || apiVersion === undefined) return undefined;
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const name = KIND_NAMES.includes(kind) ? kind : nearestKind(kind);
  const known = name === undefined ? undefined : findKind(name);
  if (name === undefined || known === undefined) return undefined;
  const rightGroup = known.groups.includes(group);
  if (name === kind ? rightGroup : !rightGroup && !known.custom) return undefined;
  if (!known.custom && isSomebodysOwn(group)) return undefined;
  return `kind ${name} of ${apiVersionOf(known)}`;
}

function apiVersionOf({ groups, version }: KnownKind): string {
  return groups[0] === "" ? version : `${groups[0]}/${version}`;
}

/** Groups of Kubernetes have no dot, as `apps`, or end with `.k8s.io`. */
function isSomebodysOwn(group: string): boolean {
  return group.includes(".") && !group.endsWith(".k8s.io");
}

function nearestKind(kind: string): string | undefined {
  const written = kind.toLowerCase().replace(/ies$/, "y");
  const nearest = KIND_NAMES.map((name) => ({
    name,
    distance: editDistance(name.toLowerCase(), written),
  })).sort((left, right) => left.distance - right.distance)[0]!;
  return nearest.distance <= (nearest.name.length < LONG_NAME ? 1 : 2) ? nearest.name : undefined;
}

/** The number of insertions, deletions, replacements and swaps of neighbours between two texts. */
function editDistance(left: string, right: string): number {
  let [before, last]: [number[], number[]] = [
    [],
    Array.from({ length: right.length + 1 }, (_, index) => index),
  ];
  for (let row = 1; row <= left.length; row++) {
    const next = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let distance = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      if (left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1])
        distance = Math.min(distance, (before[column - 2] ?? Number.POSITIVE_INFINITY) + 1);
      next.push(distance);
    }
    [before, last] = [last, next];
  }
  return last[right.length]!;
}
