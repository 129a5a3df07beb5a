import type { ScopeTerms } from "../../../gateway/doh-gateway.ts";
import type { Generation } from "../../../zone/generation/generation.ts";
import type { NamedBytes } from "../../transfer-state.ts";
import { followParts, type PartFollower, type UsedPart } from "../follow-parts.ts";
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

/**
 * Says what changed in what scopes serve. Following a generation costs what differs from the one before, and each part is in shared memory once,
 * whatever the number of scopes and threads.
 */
export class ScopePublisher {
  readonly #scopes: ReadonlyMap<string, PublishedScope>;
  readonly #parts = new Map<string, PublishedPart>();
  readonly #generations = new Map<string, Generation | undefined>();
  readonly #published = new Map<string, SharedScope>();
  #added = new Map<string, Bytes>();
  #dropped = new Set<string>();
  readonly #follower: PartFollower = {
    use: (hash, part) => this.#use(hash, part),
    drop: (hash) => this.#drop(hash),
  };

  /** @param scopes by `visibilityKey` */
  constructor(scopes: ReadonlyMap<string, PublishedScope>) {
    this.#scopes = scopes;
  }

  /** What changed since the last call; undefined for nothing. @param now by the gateway's clock */
  changes(now: number): SharedUpdate | undefined {
    const scopes = new Map<string, SharedScope>();
    for (const [key, scope] of this.#scopes) {
      const before = this.#published.get(key);
      const next = this.#follow(key, scope, now);
      if (before !== undefined && isEqual(before, next)) continue;
      this.#published.set(key, next);
      scopes.set(key, next);
    }
    if (scopes.size === 0) return undefined;
    const added = namedBytes(this.#added);
    const dropped = [...this.#dropped];
    this.#added = new Map();
    this.#dropped = new Set();
    return { added, dropped, scopes };
  }

  /** All that was published until now, for a thread that starts. */
  all(): SharedUpdate {
    const added = Array.from(this.#parts, ([hash, { bytes }]) => ({ hash, bytes }));
    return { added, dropped: [], scopes: new Map(this.#published) };
  }

  #follow(key: string, scope: PublishedScope, now: number): SharedScope {
    const generation = scope.current(now)?.generation;
    const before = this.#generations.get(key);
    if (generation !== before) {
      followParts(this.#follower, generation, before);
      this.#generations.set(key, generation);
    }
    const hash = generation?.rootHash;
    const root = hash === undefined ? undefined : { hash, bytes: this.#parts.get(hash)!.bytes };
    return { root, serial: generation?.serial ?? 0, ...scope.terms(now) };
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

function namedBytes(parts: ReadonlyMap<string, Bytes>): NamedBytes[] {
  return Array.from(parts, ([hash, bytes]) => ({ hash, bytes }));
}

function isEqual(one: SharedScope, other: SharedScope): boolean {
  if (one.root?.hash !== other.root?.hash || one.serial !== other.serial) return false;
  if (one.behindSince !== other.behindSince || one.expiresAt.size !== other.expiresAt.size) return false;
  for (const [clusterId, expiresAt] of one.expiresAt)
    if (!other.expiresAt.has(clusterId) || other.expiresAt.get(clusterId) !== expiresAt) return false;
  return JSON.stringify(one.clusters) === JSON.stringify(other.clusters);
}
