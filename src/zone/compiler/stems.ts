import { NodeFlag } from "../segment/layout.ts";
import type { SegmentBuilder } from "../segment/segment-builder.ts";
import type { TreeKey } from "../segment/tree-key.ts";

/** A namespace in a tree that has names below it. */
export interface Stem {
  readonly tree: TreeKey;
  /** The labels of its name, the leftmost first. */
  readonly labels: readonly string[];
  /** Whether it exists in views that lack it, too. */
  readonly isEverywhere: boolean;
}

/** The namespaces that names of a key are in. */
export function stemsOf({ nodes, tables }: SegmentBuilder): Stem[] {
  const { trees } = tables.finish();
  const stems: Stem[] = [];
  for (let node = trees.length; node < nodes.count; node++)
    if (nodes.isTop(node)) {
      const [, ...labels] = nodes.labels(node);
      const isEverywhere = nodes.hasFlag(node, NodeFlag.everywhere);
      stems.push({ tree: trees[nodes.apexOf(node)]!, labels, isEverywhere });
    }
  return stems;
}

interface Counted {
  readonly stem: Stem;
  /** The list that most keys have: a key in one tree is in one namespace. */
  readonly alone: readonly [Stem];
  count: number;
}

/** Counts the keys that have each stem. */
export class StemCounts {
  readonly #counts = new Map<string, Counted>();
  #mayHaveChanged = true;
  #keys: readonly string[] | undefined;

  /** Takes over the stems of a key. @returns them as they are held: equal stems are one object, and so are lists of one */
  add(stems: readonly Stem[]): readonly Stem[] {
    for (const stem of stems) this.#count(stem, 1);
    return this.held(stems);
  }

  /** Takes over that some keys have a stem. */
  addAll(stem: Stem, keys: number): void {
    this.#count(stem, keys);
  }

  /** The stems of a key that are counted already, as they are held. */
  held(stems: readonly Stem[]): readonly Stem[] {
    const held = stems.map((stem) => this.#counts.get(keyOf(stem))!);
    return held.length === 1 ? held[0]!.alone : held.map(({ stem }) => stem);
  }

  /** Takes over that a key has other stems, or none. */
  remove(stems: readonly Stem[]): void {
    for (const stem of stems) this.#count(stem, -1);
  }

  #count(stem: Stem, more: number): void {
    const key = keyOf(stem);
    const own = this.#counts.get(key) ?? { stem, alone: [stem], count: 0 };
    this.#counts.set(key, own);
    own.count += more;
    if (own.count === 0 || own.count === more) this.#mayHaveChanged = true;
  }

  /** All stems, in an order of their own; undefined if they are those of the call before. */
  changed(): readonly Stem[] | undefined {
    if (!this.#mayHaveChanged) return undefined;
    this.#mayHaveChanged = false;
    for (const [key, { count }] of this.#counts) if (count === 0) this.#counts.delete(key);
    const keys = [...this.#counts.keys()].sort();
    if (
      this.#keys !== undefined &&
      keys.length === this.#keys.length &&
      keys.every((key, at) => key === this.#keys![at])
    )
      return undefined;
    this.#keys = keys;
    return this.all();
  }

  /** The stems as of the last call of `changed`. */
  all(): readonly Stem[] {
    return (this.#keys ?? []).map((key) => this.#counts.get(key)!.stem);
  }
}

function keyOf({ tree, labels, isEverywhere }: Stem): string {
  return `${tree} ${labels.join(".")}${isEverywhere ? " *" : ""}`;
}
