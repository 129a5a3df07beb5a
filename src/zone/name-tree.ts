import type { RecordSets, TreeKey } from "./world.ts";

/** The most views, or sets of clusters. */
const MOST_ENTRIES = 0xffff;
const NO_VARIANTS: ReadonlyMap<number, RecordSets> = new Map();

/** The names of a key are too many kinds of things for its form. */
class CapacityError extends Error {
  readonly code = "ZONES_CAPACITY";
}

/** A name in a tree, or the apex of one. */
export interface NameNode {
  /** The index of its tree. */
  readonly tree: number;
  /** The labels of its relative name, joined by dots. The first spelling is kept. */
  readonly text: string;
  /** The same with letters folded. */
  readonly folded: string;
  /** Those of all views. */
  sets: RecordSets | undefined;
  /** Those that replace them in single views, by the index of the view. */
  variants: ReadonlyMap<number, RecordSets>;
}

/**
 * Collects the names of a key with their RRsets. A node is an index; views and lease groups get their index
 * when they are used first.
 */
export class NameTree {
  readonly trees: readonly TreeKey[];
  /** The apexes of the trees come first. */
  readonly nodes: NameNode[];
  /** The cluster ids of each lease group; group 0 depends on none. */
  readonly leaseGroups: (readonly string[])[] = [[]];
  /** By tree: nodes by folded text. */
  readonly #known: readonly Map<string, number>[];
  readonly #views = new Map<string, number>();
  readonly #groups = new Map<string, number>([["", 0]]);

  /** @param trees their keys; the apex of tree n is node n */
  constructor(trees: readonly TreeKey[]) {
    this.trees = trees;
    this.nodes = trees.map((_, tree) => nodeOf(tree, ""));
    this.#known = trees.map(() => new Map());
  }

  /** Whether there is no name but apexes. */
  get isEmpty(): boolean {
    return this.nodes.length === this.trees.length;
  }

  /** The names of the views, by their indices. */
  get views(): string[] {
    return [...this.#views.keys()];
  }

  /** The apex of a tree. */
  apex(tree: TreeKey): number {
    return this.trees.indexOf(tree);
  }

  /** The index of a view. @throws {CapacityError} */
  view(name: string): number {
    return intern(this.#views, name, "views");
  }

  /** The index of the lease group of these clusters. @throws {CapacityError} */
  leaseGroup(clusterIds: readonly string[]): number {
    const isOne = clusterIds.length === 1;
    const members = isOne ? clusterIds : [...new Set(clusterIds)].sort();
    const group = intern(this.#groups, isOne ? members[0]! : members.join(" "), "sets of clusters");
    if (group === this.leaseGroups.length) this.leaseGroups.push(members);
    return group;
  }

  /**
   * The node of a name below `parent`, added if it is new.
   * @param run the labels in between, joined by dots; names in between get no node
   */
  child(parent: number, run: string): number {
    const above = this.nodes[parent]!;
    const node = nodeOf(above.tree, above.text === "" ? run : `${run}.${above.text}`);
    const known = this.#known[node.tree]!.get(node.folded);
    if (known !== undefined) return known;
    this.#known[node.tree]!.set(node.folded, this.nodes.length);
    return this.nodes.push(node) - 1;
  }

  /** The length in bytes of a node's relative name on the wire, without the zone. */
  nameBytes(node: number): number {
    const { length } = this.nodes[node]!.text;
    return length === 0 ? 0 : length + 1;
  }

  /** The labels of a node's relative name, the leftmost first. */
  labels(node: number): string[] {
    return this.nodes[node]!.text.split(".");
  }

  hasRecords(node: number): boolean {
    return this.nodes[node]!.sets !== undefined;
  }

  /** Sets the RRsets of a node: those of all views, and those that replace them in single views. */
  setRecords(node: number, sets: RecordSets, variants: ReadonlyMap<number, RecordSets> = NO_VARIANTS): void {
    const own = this.nodes[node]!;
    own.sets = sets;
    own.variants = variants;
  }
}

function nodeOf(tree: number, text: string): NameNode {
  return { tree, text, folded: text.toLowerCase(), sets: undefined, variants: NO_VARIANTS };
}

/**
 * The index of a value in a table, to which it is added when it is used first.
 * @throws {CapacityError} if the table is full
 */
export function intern<Key extends string | number>(into: Map<Key, number>, key: Key, kind: string): number {
  const known = into.get(key);
  if (known !== undefined) return known;
  if (into.size >= MOST_ENTRIES)
    throw new CapacityError(`a key holds at most ${MOST_ENTRIES} ${kind}; ${key} is one more`);
  into.set(key, into.size);
  return into.size - 1;
}

/** The tree of the clusterset zone and its aliases. */
export const CLUSTERSET_TREE: TreeKey = "clusterset";

/** The tree of a cluster's own zone. */
export function localTree(clusterId: string): TreeKey {
  return `local:${clusterId}`;
}

/** The tree of a federation zone. @param zone its name in lower case with the trailing dot */
export function federationTree(zone: string): TreeKey {
  return `federation:${zone}`;
}

const SERVICE_DEPTHS = [2];
const FEDERATION_DEPTHS = [5, 4, 3];

/**
 * How many labels the names of namespaces have, deepest first: `<ns>.svc`; in federation zones
 * `<ns>.<federation>.svc`, with a region and a topology zone behind it or without.
 */
export function stemDepths(tree: TreeKey): readonly number[] {
  return tree.startsWith("federation:") ? FEDERATION_DEPTHS : SERVICE_DEPTHS;
}
