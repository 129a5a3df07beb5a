import type { Page } from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import type { KeptParts } from "./kept-parts.ts";
import { branchesOf } from "./load-root.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A part that a generation has, once or more often. */
interface ServedPart {
  readonly bytes: Bytes;
  uses: number;
}

/** From one root that a state could name to the next. */
interface Step {
  readonly from: string;
  /** Hashes of segments and pages that came with the next one. */
  readonly added: readonly string[];
}

/** Steps that are remembered. */
const MOST_STEPS = 32;

/** A page of a directory, whatever its segments are. */
type AnyPage = Page<{ readonly bytes: Bytes }>;

/**
 * The parts of what one scope serves, by hash: of the newest generation, and those that were replaced lately. Following a generation costs what
 * differs from the one before.
 */
export class ServedParts {
  readonly #kept: KeptParts;
  /** Distinguishes the parts of scopes among those that are kept: no scope gets another one's. */
  readonly #prefix: string;
  readonly #parts = new Map<string, ServedPart>();
  #generation: Generation | undefined;
  #steps: readonly Step[] = [];
  #added: string[] = [];
  /** When a state was asked for last. */
  #namedAt = Number.NEGATIVE_INFINITY;

  constructor(kept: KeptParts, prefix: string) {
    this.#kept = kept;
    this.#prefix = prefix;
  }

  /** Takes what is served now. @param namedAt when a state names it, in Unix milliseconds; undefined where none does */
  follow(generation: Generation | undefined, namedAt: number | undefined): void {
    const before = this.#generation;
    if (generation !== before) {
      this.#generation = generation;
      this.#added = [];
      if (generation !== undefined) this.#useBlobs(generation);
      this.#useDirectory(generation?.names, before?.names);
      this.#useDirectory(generation?.reverse, before?.reverse);
      if (before !== undefined) this.#dropBlobs(before);
      if (before !== undefined && generation !== undefined)
        this.#steps = [...this.#steps, { from: before.rootHash, added: this.#added }].slice(-MOST_STEPS);
      else this.#steps = [];
    }
    if (namedAt !== undefined) this.#namedAt = namedAt;
  }

  get(hash: string, now: number): Bytes | undefined {
    return this.#parts.get(hash)?.bytes ?? this.#kept.get(this.#prefix + hash, now);
  }

  /** The segments and pages that the newest generation has and the one of a root did not; none where that is not known any more. */
  newSince(root: string): Bytes[] {
    const first = this.#steps.findLastIndex(({ from }) => from === root);
    const added = first < 0 ? [] : this.#steps.slice(first).flatMap((step) => step.added);
    return [...new Set(added)].flatMap((hash) => this.#parts.get(hash)?.bytes ?? []);
  }

  #useBlobs({ rootHash, root, frame, stems }: Generation): void {
    this.#use(rootHash, root);
    this.#use(frame.hash, frame.bytes);
    this.#use(stems.hash, stems.bytes);
  }

  #dropBlobs({ rootHash, frame, stems }: Generation): void {
    for (const hash of [rootHash, frame.hash, stems.hash]) this.#drop(hash);
  }

  /** Uses what `after` has and drops what `before` has, but for what both have. */
  #useDirectory(after: AnyPage | undefined, before: AnyPage | undefined): void {
    if (after === before) return;
    if (after !== undefined) this.#use(after.hash, after.bytes);
    this.#useEntries(after, before);
    if (before !== undefined) this.#drop(before.hash);
  }

  #useEntries(after: AnyPage | undefined, before: AnyPage | undefined): void {
    const old = branchesOf(before);
    for (const { slot, branch } of after?.entries ?? []) {
      const same = old.get(slot);
      if (branch.page !== undefined) {
        if (same?.page !== undefined) old.delete(slot);
        if (branch.page.hash !== same?.hash) this.#added.push(branch.hash);
        this.#useDirectory(branch.page, same?.page);
      } else if (same?.hash === branch.hash) old.delete(slot);
      else if (branch.segment !== undefined) {
        this.#added.push(branch.hash);
        this.#use(branch.hash, branch.segment.bytes);
      }
    }
    for (const { hash, page, segment } of old.values())
      if (page !== undefined) this.#useDirectory(undefined, page);
      else if (segment !== undefined) this.#drop(hash);
  }

  #use(hash: string, bytes: Bytes): void {
    const part = this.#parts.get(hash);
    if (part !== undefined) part.uses++;
    else {
      this.#parts.set(hash, { bytes, uses: 1 });
      this.#kept.drop(this.#prefix + hash);
    }
  }

  #drop(hash: string): void {
    const part = this.#parts.get(hash);
    if (part === undefined || --part.uses > 0) return;
    this.#parts.delete(hash);
    if (this.#namedAt > Number.NEGATIVE_INFINITY)
      this.#kept.keep(this.#prefix + hash, part.bytes, this.#namedAt);
  }
}
