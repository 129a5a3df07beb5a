import type { ClusterFinding } from "../../merge/clusterset.ts";

/** The findings of compiled keys, and of everything else that a generation is compiled from, in one list. */
export class KeyFindings {
  /** Of the few keys that have any. */
  readonly #keys = new Map<string, readonly ClusterFinding[]>();
  #joined: readonly ClusterFinding[] | undefined;
  #first: readonly ClusterFinding[] = [];
  #last: readonly ClusterFinding[] = [];

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** Takes over the findings of a key, of which there may be none. */
  set(key: string, findings: readonly ClusterFinding[]): void {
    if (this.#keys.delete(key) || findings.length > 0) this.#joined = undefined;
    if (findings.length > 0) this.#keys.set(key, findings);
  }

  /** The findings of the keys between two other lists. The result is the same list until something in it changes. */
  joined(first: readonly ClusterFinding[], last: readonly ClusterFinding[]): readonly ClusterFinding[] {
    if (first !== this.#first || last !== this.#last) this.#joined = undefined;
    this.#first = first;
    this.#last = last;
    this.#joined ??= [first, ...this.#keys.values(), last].flat();
    return this.#joined;
  }
}
