import type { Generation } from "../../zone/generation/generation.ts";
import { followParts, type PartFollower, type UsedPart } from "./follow-parts.ts";
import type { KeptParts } from "./kept-parts.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A part that a generation has, once or more often. */
interface ServedPart {
  readonly part: UsedPart;
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

/**
 * The parts of what one scope serves, by hash: of the newest generation, and those that were replaced lately. Following a generation costs what
 * differs from the one before.
 */
export class ServedParts {
  readonly #kept: KeptParts;
  /** Distinguishes the parts of scopes among those that are kept: no scope gets another one's. */
  readonly #prefix: string;
  readonly #parts = new Map<string, ServedPart>();
  readonly #follower: PartFollower = {
    use: (hash, part, isNew) => this.#use(hash, part, isNew),
    drop: (hash) => this.#drop(hash),
  };
  #generation: Generation | undefined;
  #steps: readonly Step[] = [];
  #added: string[] = [];
  /** When a state was requested last. */
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
      followParts(this.#follower, generation, before);
      if (before !== undefined && generation !== undefined)
        this.#steps = [...this.#steps, { from: before.rootHash, added: this.#added }].slice(-MOST_STEPS);
      else this.#steps = [];
    }
    if (namedAt !== undefined) this.#namedAt = namedAt;
  }

  get(hash: string, now: number): Bytes | undefined {
    return (this.#parts.get(hash)?.part ?? this.#kept.get(this.#prefix + hash, now))?.read();
  }

  /** The segments and pages that the newest generation has and the one of a root did not; none where that is not known any more. */
  newSince(root: string): UsedPart[] {
    const first = this.#steps.findLastIndex(({ from }) => from === root);
    const added = first < 0 ? [] : this.#steps.slice(first).flatMap((step) => step.added);
    return [...new Set(added)].flatMap((hash) => this.#parts.get(hash)?.part ?? []);
  }

  #use(hash: string, part: UsedPart, isNew: boolean): void {
    if (isNew) this.#added.push(hash);
    const known = this.#parts.get(hash);
    if (known !== undefined) known.uses++;
    else {
      this.#parts.set(hash, { part, uses: 1 });
      this.#kept.drop(this.#prefix + hash);
    }
  }

  #drop(hash: string): void {
    const known = this.#parts.get(hash);
    if (known === undefined || --known.uses > 0) return;
    this.#parts.delete(hash);
    if (this.#namedAt > Number.NEGATIVE_INFINITY)
      this.#kept.keep(this.#prefix + hash, known.part, this.#namedAt);
  }
}
