import { LRUCache } from "lru-cache";
import { KeyChanges, later, type Mark } from "../names/key-changes.ts";
import type { Loaded } from "./part-forms.ts";

/** Parts without names or claims that are kept: random names do not push others out. */
const MOST_ABSENT = 16_384;
/**
 * Bytes of a part in memory beside those that were fetched, about, and of each name or address that is found
 * by itself.
 */
const PART_BYTES = 512;
const NAME_BYTES = 64;

interface Kept {
  readonly value: object;
  readonly bytes: number;
  /** Up to which change it is right. */
  at: number;
}

/** Parts in memory, of all scopes of a host together: those that queries used last. */
export class PartMemory {
  readonly #parts: LRUCache<string, Kept>;
  readonly #absent = new LRUCache<string, Kept>({ max: MOST_ABSENT });
  readonly #most: number;
  #owners = 0;

  constructor(bytes: number) {
    this.#most = bytes / 2;
    this.#parts = new LRUCache({ maxSize: bytes, sizeCalculation: (part) => PART_BYTES + part.bytes });
  }

  /** Bytes of the parts in memory, about. */
  get bytes(): number {
    return this.#parts.calculatedSize;
  }

  /** In front of the names of parts that belong together. */
  newOwner(): string {
    return `${++this.#owners} `;
  }

  get(id: string): Kept | undefined {
    return this.#parts.get(id) ?? this.#absent.get(id);
  }

  has(id: string): boolean {
    return this.#parts.has(id);
  }

  /** @throws {Error} for a part that is too large */
  set(id: string, part: Kept, isAbsent: boolean): void {
    if (part.bytes > this.#most)
      throw new Error(`a part has ${part.bytes} bytes, more than half of the memory for all of them`);
    this.#parts.delete(id);
    this.#absent.delete(id);
    (isAbsent ? this.#absent : this.#parts).set(id, part);
  }
}

/** The parts of one log in one scope, with what changed since they were fetched. */
export class PartCache {
  readonly changes: KeyChanges;
  /** By which version parts are fetched that did not change since: that of the newest state. */
  base: Mark;
  readonly epoch: string;
  /** In front of the names of its parts in the memory. */
  readonly owner: string;
  readonly #memory: PartMemory;

  constructor(memory: PartMemory, epoch: string, base: Mark) {
    this.#memory = memory;
    this.epoch = epoch;
    this.owner = memory.newOwner();
    this.changes = new KeyChanges(base);
    this.base = base;
  }

  /** What was fetched last under a name. */
  peek<Value>(id: string): Value | undefined {
    return this.#memory.get(this.owner + id)?.value as Value | undefined;
  }

  /** Whether what was fetched last under a name is right. @param changed the last change of what it is of */
  isRight(id: string, changed: Mark): boolean {
    const part = this.#memory.get(this.owner + id);
    return part !== undefined && part.at >= changed.position && part.at >= this.changes.forgotten.position;
  }

  /** Whether a part is newer than the newest change that is known. */
  isAhead(id: string): boolean {
    return this.#memory.get(this.owner + id)!.at > this.changes.newest.position;
  }

  /**
   * Notes that all that a part is of did not change since: then it stays right when older changes are
   * forgotten.
   */
  keep(id: string): void {
    const part = this.#memory.get(this.owner + id)!;
    part.at = Math.max(part.at, this.changes.newest.position);
  }

  /** Whether it is in memory, right or not. */
  has(id: string): boolean {
    return this.#memory.has(this.owner + id);
  }

  /** The version to fetch. @param changed as `isRight` has it */
  version(changed: Mark): Mark {
    return later(this.base, this.changes.forgotten, changed);
  }

  /** @throws {Error} for a part that is too large */
  set(id: string, { at, value }: Loaded<object>, bytes: number): void {
    const { names, claims } = value as Partial<Record<"names" | "claims", { readonly size: number }>>;
    const held = bytes + NAME_BYTES * ((names ?? claims)?.size ?? 0);
    const isAbsent = claims === undefined ? "key" in value && value.key === undefined : claims.size === 0;
    this.#memory.set(this.owner + id, { value, bytes: held, at }, isAbsent);
  }
}
