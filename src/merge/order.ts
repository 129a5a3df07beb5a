import type { ClusterFinding } from "./clusterset.ts";

/** Orders text by UTF-16 code unit, so that no locale ever changes an answer. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Orders services by namespace, then name. */
export function compareKeys(left: string, right: string): number {
  return compareText(namespaceOf(left), namespaceOf(right)) || compareText(nameOf(left), nameOf(right));
}

/** Orders findings by cluster id, namespace, name, kind, reason and message. */
export function compareFindings(left: ClusterFinding, right: ClusterFinding): number {
  return (
    compareText(left.clusterId, right.clusterId) ||
    compareText(left.namespace ?? "", right.namespace ?? "") ||
    compareText(left.name, right.name) ||
    compareText(left.kind, right.kind) ||
    compareText(left.reason, right.reason) ||
    compareText(left.message, right.message)
  );
}

/** Sorted findings without repetitions: zones of two kinds may find the same. */
export function distinctFindings(sorted: readonly ClusterFinding[]): ClusterFinding[] {
  return sorted.filter((finding, index) => index === 0 || compareFindings(sorted[index - 1]!, finding) !== 0);
}

/** The namespace in the key of a service: `<namespace>/<name>`. */
export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** The name in the key of a service. */
export function nameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
