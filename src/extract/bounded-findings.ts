import { equalJson } from "../snapshot/json-value.ts";
import type { Finding } from "../snapshot/schema.ts";
import type { ExtractedState } from "./extracted-state.ts";
import { compareText, setOrDelete } from "./fields.ts";
import { FindingCollector, type KeyedFinding } from "./findings.ts";

/** Findings that are reported of a cluster: a gateway accepts 12,000 by default (`limits.findings`). */
export const MOST_FINDINGS = 10_000;

/**
 * All findings about a cluster's objects, in namespaces that exist. Where they are too many, each namespace
 * has a share in those of the state, the first by key.
 */
export class BoundedFindings {
  readonly #state: ExtractedState;
  /** By namespace, "" for the cluster itself, and by what they come from. */
  readonly #all = new Map<string, Map<string, readonly KeyedFinding[]>>();
  /** By namespace that exists, by key. */
  readonly #groups = new Map<string, ReadonlyMap<string, Finding>>();
  /** Those of the state, by namespace. */
  readonly #shown = new Map<string, readonly KeyedFinding[]>();
  readonly #changed = new Set<string>();
  #share = Number.POSITIVE_INFINITY;

  constructor(state: ExtractedState) {
    this.#state = state;
    state.follow((part, namespace) => {
      if (part === "namespaces") this.#changed.add(namespace);
    });
  }

  /** Replaces the findings that come from a service or an object; the state has them after `refresh`. */
  set(namespace: string, source: string, findings: readonly KeyedFinding[]): void {
    const held = this.#all.get(namespace) ?? new Map<string, readonly KeyedFinding[]>();
    if (equalJson(held.get(source) ?? [], findings)) return;
    setOrDelete(held, source, findings.length === 0 ? undefined : findings);
    setOrDelete(this.#all, namespace, held.size === 0 ? undefined : held);
    this.#changed.add(namespace);
  }

  /** Brings the state up to date. @param clusterId which the state may get only after this */
  refresh(clusterId: string): void {
    for (const namespace of this.#changed) {
      const isThere = namespace === "" || this.#state.hasNamespace(namespace);
      const held = isThere ? this.#all.get(namespace) : undefined;
      setOrDelete(this.#groups, namespace, held && new Map([...held.values()].flat()));
    }
    const sizes = Array.from(this.#groups.values(), ({ size }) => size);
    const share = shareOf(sizes, MOST_FINDINGS);
    if (share !== this.#share) {
      const least = Math.min(share, this.#share);
      for (const [namespace, { size }] of this.#groups) if (size > least) this.#changed.add(namespace);
    }
    this.#share = share;
    for (const namespace of this.#changed)
      this.#show(namespace, firstOf(this.#groups.get(namespace) ?? new Map(), share));
    this.#changed.clear();
    this.#show("/", share < Number.POSITIVE_INFINITY ? tooManyFindings(clusterId) : []);
  }

  #show(group: string, findings: readonly KeyedFinding[]): void {
    const keys = new Set(findings.map(([key]) => key));
    for (const [key] of this.#shown.get(group) ?? [])
      if (!keys.has(key)) this.#state.set("findings", key, undefined);
    for (const [key, finding] of findings) this.#state.set("findings", key, finding);
    setOrDelete(this.#shown, group, findings.length === 0 ? undefined : findings);
  }
}

function firstOf(group: ReadonlyMap<string, Finding>, share: number): KeyedFinding[] {
  if (group.size <= share) return [...group];
  return [...group].sort(([left], [right]) => compareText(left, right)).slice(0, share);
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

function tooManyFindings(clusterId: string): KeyedFinding[] {
  const collector = new FindingCollector();
  const message = `there are more than ${MOST_FINDINGS} findings: of the namespaces with the most of them only the first are reported`;
  collector.about({ kind: "Cluster", name: clusterId })("TooMany", message);
  return collector.collect();
}
