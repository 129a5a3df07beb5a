import type { ClusterTerms, ScopeTerms } from "../../../gateway/doh-gateway.ts";
import { drain } from "../../../snapshot/drain.ts";
import type { Generation } from "../../../zone/generation/generation.ts";
import type { NamedBytes } from "../../transfer-state.ts";
import { followInSteps, type PartFollower, type UsedPart } from "../follow-parts.ts";
import { sharedBytes } from "./shared-bytes.ts";
import type { SharedScope, SharedUpdate } from "./shared-update.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What is published of a scope of the gateway that compiles. Times are by its clock. */
export interface PublishedScope {
  current(now: number): { readonly generation: Generation } | undefined;
  terms(now: number): ScopeTerms;
}

/** A part that scopes have, once or more often. */
interface PublishedPart {
  readonly bytes: Bytes;
  uses: number;
}

/** What was published of a scope, with all clusters. */
interface PublishedState extends ScopeTerms, Pick<SharedScope, "root" | "serial"> {}

/** New parts that are published together. A thread takes them over in less than a millisecond. */
const PARTS_AT_ONCE = 64;

const NO_CLUSTERS: ReadonlyMap<string, ClusterTerms> = new Map();

/**
 * Says what changed in what scopes serve. Following a generation costs what differs from the one before, and each part is in shared memory once,
 * whatever the number of scopes and threads.
 */
export class ScopePublisher {
  readonly #scopes: ReadonlyMap<string, PublishedScope>;
  readonly #parts = new Map<string, PublishedPart>();
  readonly #generations = new Map<string, Generation | undefined>();
  readonly #published = new Map<string, PublishedState>();
  readonly #added = new Map<string, Bytes>();
  #dropped = new Set<string>();
  /** The scope whose generation is being followed in steps: until that is done, the one before is published. */
  #followed: string | undefined;
  readonly #follower: PartFollower = {
    use: (hash, part) => this.#use(hash, part),
    drop: (hash) => this.#drop(hash),
  };

  /** @param scopes by `visibilityKey` */
  constructor(scopes: ReadonlyMap<string, PublishedScope>) {
    this.#scopes = scopes;
  }

  /**
   * Follows what scopes serve now, in steps, and yields new parts, some at a time. The rest comes with `changes`, as does what the parts belong to: a large change is taken over
   * bit by bit. @param now by the gateway's clock
   */
  *newParts(now: number): Generator<readonly NamedBytes[]> {
    for (const [key, scope] of this.#scopes) {
      this.#followed = key;
      for (const _ of this.#followInSteps(key, scope.current(now)?.generation))
        while (this.#added.size > PARTS_AT_ONCE) yield this.#takeAdded(PARTS_AT_ONCE);
      this.#followed = undefined;
    }
  }

  /** What changed since the last call; undefined for nothing. @param now by the gateway's clock */
  changes(now: number): SharedUpdate | undefined {
    const scopes = new Map<string, SharedScope>();
    for (const [key, scope] of this.#scopes) {
      const before = this.#published.get(key);
      const next = this.#follow(key, scope, now);
      this.#published.set(key, next);
      const changed = changesOf(next, before);
      if (changed !== undefined) scopes.set(key, changed);
    }
    if (scopes.size === 0) return undefined;
    const dropped = [...this.#dropped];
    this.#dropped = new Set();
    return { added: this.#takeAdded(), dropped, scopes };
  }

  /** All that was published until now, for a thread that starts. */
  all(): SharedUpdate {
    const added = Array.from(this.#parts, ([hash, { bytes }]) => ({ hash, bytes }));
    const scopes = new Map(Array.from(this.#published, ([key, state]) => [key, changesOf(state)!]));
    return { added, dropped: [], scopes };
  }

  #follow(key: string, scope: PublishedScope, now: number): PublishedState {
    if (key !== this.#followed) drain(this.#followInSteps(key, scope.current(now)?.generation));
    const generation = this.#generations.get(key);
    const hash = generation?.rootHash;
    const root = hash === undefined ? undefined : { hash, bytes: this.#parts.get(hash)!.bytes };
    return { root, serial: generation?.serial ?? 0, ...scope.terms(now) };
  }

  *#followInSteps(key: string, generation: Generation | undefined): Generator<void> {
    const before = this.#generations.get(key);
    if (generation === before) return;
    yield* followInSteps(this.#follower, generation, before);
    this.#generations.set(key, generation);
  }

  /** @param most default: all */
  #takeAdded(most = this.#added.size): NamedBytes[] {
    const taken: NamedBytes[] = [];
    for (const [hash, bytes] of this.#added) {
      if (taken.length === most) break;
      taken.push({ hash, bytes });
      this.#added.delete(hash);
    }
    return taken;
  }

  #use(hash: string, part: UsedPart): void {
    const known = this.#parts.get(hash);
    if (known !== undefined) {
      known.uses++;
      return;
    }
    // A compiled generation has all of its parts.
    const bytes = sharedBytes(part.read()!);
    this.#parts.set(hash, { bytes, uses: 1 });
    if (!this.#dropped.delete(hash)) this.#added.set(hash, bytes);
  }

  /** A part that was added since the last update is in a scope that was followed since then: that one has it still. */
  #drop(hash: string): void {
    const known = this.#parts.get(hash)!;
    if (--known.uses > 0) return;
    this.#parts.delete(hash);
    this.#dropped.add(hash);
  }
}

/** What a scope has that differs from what was published before; undefined for nothing. */
function changesOf({ clusters, ...facts }: PublishedState, before?: PublishedState): SharedScope | undefined {
  const known = before?.clusters ?? NO_CLUSTERS;
  const changed = new Map([...clusters].filter(([clusterId, terms]) => known.get(clusterId) !== terms));
  const forgotten = [...known.keys()].filter((clusterId) => !clusters.has(clusterId));
  const isSame =
    before?.root?.hash === facts.root?.hash &&
    before?.serial === facts.serial &&
    before.behindSince === facts.behindSince;
  if (isSame && changed.size === 0 && forgotten.length === 0) return undefined;
  return { ...facts, clusters: changed, forgotten };
}
