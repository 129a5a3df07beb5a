import type { ClusterFinding } from "../../merge/clusterset.ts";

interface Leaf {
  readonly findings: readonly ClusterFinding[];
}

/** The findings of leaves, and of everything else that a generation is compiled from, in one list. */
export class LeafFindings {
  readonly #leaves = new Set<Leaf>();
  #joined: readonly ClusterFinding[] | undefined;
  #first: readonly ClusterFinding[] = [];
  #last: readonly ClusterFinding[] = [];

  add(leaf: Leaf): void {
    if (leaf.findings.length === 0) return;
    this.#leaves.add(leaf);
    this.#joined = undefined;
  }

  remove(leaf: Leaf): void {
    if (this.#leaves.delete(leaf)) this.#joined = undefined;
  }

  /** The findings of the leaves between two other lists. The result is the same list until something in it changes. */
  joined(first: readonly ClusterFinding[], last: readonly ClusterFinding[]): readonly ClusterFinding[] {
    if (first !== this.#first || last !== this.#last) this.#joined = undefined;
    this.#first = first;
    this.#last = last;
    this.#joined ??= [first, ...Array.from(this.#leaves, ({ findings }) => findings), last].flat();
    return this.#joined;
  }
}
