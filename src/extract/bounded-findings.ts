import type { Finding } from "../snapshot/schema.ts";
import type { ExtractedState } from "./extracted-state.ts";
import { compareText } from "./fields.ts";
import { FindingCollector } from "./findings.ts";

/** Findings that are reported of a cluster: a gateway accepts 12,000 by default (`limits.findings`). */
export const MOST_FINDINGS = 10_000;

/**
 * All findings about a cluster's objects. Where they are too many, each namespace has a share in those of the
 * state, the first by key.
 */
export class BoundedFindings {
  readonly #state: ExtractedState;
  /** By namespace, "" for the cluster itself, and by key. */
  readonly #all = new Map<string, Map<string, Finding>>();
  readonly #shown = new Map<string, Map<string, Finding>>();
  readonly #changed = new Set<string>();
  #share = Number.POSITIVE_INFINITY;

  constructor(state: ExtractedState) {
    this.#state = state;
  }

  /** Adds or replaces a finding; the state has it after `refresh`. */
  set(key: string, finding: Finding): void {
    const namespace = finding.namespace ?? "";
    this.#all.set(namespace, (this.#all.get(namespace) ?? new Map()).set(key, finding));
    this.#changed.add(namespace);
  }

  delete(key: string, { namespace = "" }: Finding): void {
    const held = this.#all.get(namespace);
    if (held?.delete(key) && held.size === 0) this.#all.delete(namespace);
    this.#changed.add(namespace);
  }

  /** Brings the state up to date. */
  refresh(clusterId: string): void {
    const before = this.#share;
    const sizes = Array.from(this.#all.values(), ({ size }) => size);
    this.#share = shareOf(sizes, MOST_FINDINGS);
    if (before !== this.#share) {
      const least = Math.min(before, this.#share);
      for (const [namespace, { size }] of this.#all) if (size > least) this.#changed.add(namespace);
    }
    for (const namespace of this.#changed) this.#show(namespace, this.#firstOf(namespace));
    this.#changed.clear();
    const isBounded = this.#share < Number.POSITIVE_INFINITY;
    this.#show("/", new Map(isBounded ? tooManyFindings(clusterId) : []));
  }

  #firstOf(namespace: string): Map<string, Finding> {
    const all = this.#all.get(namespace) ?? new Map<string, Finding>();
    if (all.size <= this.#share) return new Map(all);
    const sorted = [...all].sort(([left], [right]) => compareText(left, right));
    return new Map(sorted.slice(0, this.#share));
  }

  #show(group: string, findings: Map<string, Finding>): void {
    for (const key of this.#shown.get(group)?.keys() ?? [])
      if (!findings.has(key)) this.#state.set("findings", key, undefined);
    for (const [key, finding] of findings) this.#state.set("findings", key, finding);
    if (findings.size === 0) this.#shown.delete(group);
    else this.#shown.set(group, findings);
  }
}

/**
 * How many of each group there may be, so that there are no more than `most`: at least one, and no bound
 * where all fit.
 */
function shareOf(sizes: readonly number[], most: number): number {
  if (sizes.reduce((sum, size) => sum + size, 0) <= most) return Number.POSITIVE_INFINITY;
  let [left, groups] = [most, sizes.length];
  for (const size of sizes.toSorted((one, other) => one - other)) {
    if (size * groups > left) return Math.max(1, Math.floor(left / groups));
    left -= size;
    groups--;
  }
  return 1;
}

function tooManyFindings(clusterId: string): [key: string, finding: Finding][] {
  const collector = new FindingCollector();
  const message = `there are more than ${MOST_FINDINGS} findings: of the namespaces with the most of them only the first are reported`;
  collector.about({ kind: "Cluster", name: clusterId })("TooMany", message);
  return collector.collect();
}
