import type { FoldedName } from "../dns/name.ts";
import type { Location } from "../zone/world.ts";
import type { CompiledUnit } from "./compile-key.ts";

/** A unit in a cache. */
export interface KeptUnit extends CompiledUnit {
  /** `<kind of zone> <namespace>/<label>`; see `unitKind`. */
  readonly id: string;
  /** The version of the cache up to which it is right. */
  version: number | undefined;
}

/** Keeps compiled units by id. */
export interface UnitCache {
  /** Of the last change: a unit with another version is looked up again. Undefined if nothing changes. */
  readonly version?: number;
  /** Bytes of all units that it kept once, and keeps no more, about. */
  readonly droppedBytes?: number;
  get(id: string): KeptUnit | undefined;
  set(id: string, unit: KeptUnit): void;
}

/** Where a name is. It is right as long as the unit is in which it was searched. */
interface KnownName {
  readonly tree: number;
  readonly view: number;
  readonly unit: KeptUnit;
  /** Undefined if the name does not exist. */
  readonly location: Location | undefined;
}

/** Names are kept in sets of this many, by their hash: a name whose set is full takes the place of another one. */
const WAYS = 8;
const SETS = 1024;
/** Bytes for each name. Longer ones are not kept. */
const NAME_BYTES = 64;

/** Where the names are that queries used last: to search one takes 1 to 2 µs, to find it here less than 0.1 µs. */
export class KnownNames {
  readonly #hashes = new Int32Array(SETS * WAYS);
  readonly #names = new Uint8Array(SETS * WAYS * NAME_BYTES);
  readonly #known = new Array<KnownName | undefined>(SETS * WAYS).fill(undefined);
  #next = 0;

  /** @param end of the name relative to its zone */
  find({ bytes }: FoldedName, end: number, tree: number, view: number): KnownName | undefined {
    const hash = hashOf(bytes, end, tree, view);
    const first = firstOf(hash);
    const hashes = this.#hashes;
    for (let index = first; index < first + WAYS; index++) {
      if (hashes[index] !== hash) continue;
      const known = this.#known[index];
      if (known !== undefined && known.tree === tree && known.view === view && this.#has(index, bytes, end))
        return known;
    }
    return undefined;
  }

  set({ bytes }: FoldedName, end: number, known: KnownName): void {
    if (end > NAME_BYTES - 1) return;
    const hash = hashOf(bytes, end, known.tree, known.view);
    const first = firstOf(hash);
    let index = first;
    while (index < first + WAYS && this.#hashes[index] !== hash) index++;
    if (index === first + WAYS) index = first + (this.#next++ % WAYS);
    this.#hashes[index] = hash;
    this.#known[index] = known;
    const at = index * NAME_BYTES;
    this.#names[at] = end;
    for (let offset = 0; offset < end; offset++) this.#names[at + 1 + offset] = bytes[offset]!;
  }

  #has(index: number, bytes: Uint8Array, end: number): boolean {
    const names = this.#names;
    const at = index * NAME_BYTES;
    if (names[at] !== end) return false;
    for (let offset = 0; offset < end; offset++) if (names[at + 1 + offset] !== bytes[offset]) return false;
    return true;
  }
}

function hashOf(bytes: Uint8Array, end: number, tree: number, view: number): number {
  let hash = tree * 31 + view;
  for (let at = 0; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 16777619);
  return hash;
}

function firstOf(hash: number): number {
  return (Math.imul(hash, 0x9e3779b1) >>> 22) * WAYS;
}
