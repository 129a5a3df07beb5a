import type { ClusterFinding } from "../../merge/clusterset.ts";

interface Compiled {
  readonly findings: readonly ClusterFinding[];
}

/** The findings of compiled keys, and of everything else that a generation is compiled from, in one list. */
export class KeyFindings {
  readonly #keys = new Set<Compiled>();
  #joined: readonly ClusterFinding[] | undefined;
  #first: readonly ClusterFinding[] = [];
  #last: readonly ClusterFinding[] = [];

  add(key: Compiled): void {
    if (key.findings.length === 0) return;
    this.#keys.add(key);
    this.#joined = undefined;
  }

  remove(key: Compiled): void {
    if (this.#keys.delete(key)) this.#joined = undefined;
  }

  /** The findings of the keys between two other lists. The result is the same list until something in it changes. */
  joined(first: readonly ClusterFinding[], last: readonly ClusterFinding[]): readonly ClusterFinding[] {
    if (first !== this.#first || last !== this.#last) this.#joined = undefined;
    this.#first = first;
    this.#last = last;
    this.#joined ??= [first, ...Array.from(this.#keys, ({ findings }) => findings), last].flat();
    return this.#joined;
  }
}
