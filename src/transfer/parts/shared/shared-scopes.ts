import type { ClusterTerms, DohGateway } from "../../../gateway/doh-gateway.ts";
import type { ServingStatus } from "../../../gateway/gateway-types.ts";
import { LeaseTables } from "../../../gateway/leases/lease-tables.ts";
import type { GatewayStages, QueryContext } from "../../../gateway/stages.ts";
import { type Visibility, visibilityKey } from "../../../merge/visibility/visibility.ts";
import { type Branch, Page } from "../../../zone/generation/directory.ts";
import type { Generation } from "../../../zone/generation/generation.ts";
import type { AnySegment } from "../any-segment.ts";
import { isOfNames, isOfReverseNames, loadRoot } from "../load-root.ts";
import { writeRootDocument } from "../root-responses.ts";
import { SharedParts } from "./shared-parts.ts";
import type { SharedScope, SharedUpdate } from "./shared-update.ts";

/** What a scope answers from. */
interface HeldScope {
  readonly generation: Generation | undefined;
  readonly leases: LeaseTables;
  readonly scope: Pick<SharedScope, "root" | "behindSince">;
  /** By id. */
  readonly clusters: ReadonlyMap<string, ClusterTerms>;
  /** When the next lease expires: Infinity for never, -Infinity where the generation has a cluster whose lease has expired. */
  readonly nextExpiry: number;
  /** Whether that was long ago: the state without its cluster takes long to compile, and no answer waits for it. */
  isLate: boolean;
}

/** How updates come. */
export interface SharedSource {
  /** Takes the updates that wait. Called before each answer, so that an answer follows every push that was acknowledged before its query. */
  readonly receive: () => void;
  /** Whether the thread that compiles has been heard of lately. */
  readonly isFresh: (now: number) => boolean;
  /** Resolves after the time for which an answer may wait for the state without a cluster whose lease just expired. */
  readonly patience: () => Promise<void>;
}

const NOT_READY: ServingStatus = {
  ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0, clusters: [] },
};

/** Answers from what another thread of the process compiles. Unlike a secondary it requests nothing: updates are posted. */
export class SharedScopes {
  readonly #stages: Pick<GatewayStages<Generation>, "resolve" | "notReady">;
  readonly #source: SharedSource;
  readonly #parts = new SharedParts();
  readonly #held = new Map<string, HeldScope>();
  #nextUpdate = Promise.withResolvers<void>();

  constructor(stages: Pick<GatewayStages<Generation>, "resolve" | "notReady">, source: SharedSource) {
    this.#stages = stages;
    this.#source = source;
  }

  /** Takes over an update. @throws {Error} for an update that lacks a part: then nothing of it is answered from */
  take({ added, dropped, scopes }: SharedUpdate): void {
    for (const { hash, bytes } of added) this.#parts.add(hash, bytes);
    for (const [key, scope] of scopes) {
      const before = this.#held.get(key);
      const generation = scope.root && this.#load(scope, before?.generation);
      const clusters = clustersAfter(scope, before);
      const leases = new LeaseTables((clusterId) => clusters.get(clusterId)?.expiresAt);
      const isPending = before !== undefined && isWithExpired(before, scope);
      const nextExpiry = isPending ? Number.NEGATIVE_INFINITY : firstExpiry(clusters);
      const isLate = isPending && before.isLate;
      this.#held.set(key, { generation, leases, scope, clusters, nextExpiry, isLate });
    }
    for (const hash of dropped) this.#parts.drop(hash);
    this.#nextUpdate.resolve();
    this.#nextUpdate = Promise.withResolvers();
  }

  /** The gateway of a scope. */
  of(visibility: Visibility): DohGateway {
    const key = visibilityKey(visibility);
    const { view } = visibility;
    const held = this.#held;
    const stages = this.#stages;
    const { receive, isFresh } = this.#source;
    const resolve = (query: Uint8Array, asked: QueryContext, now: number) => {
      receive();
      const { generation, leases, scope } = held.get(key) ?? {};
      if (generation === undefined) return stages.notReady(query, asked);
      const stale = scope!.behindSince !== undefined || !isFresh(now);
      return stages.resolve(query, { ...asked, generation, leases: leases!, now, stale });
    };
    return {
      answer: (query, given, now, transport) => {
        const asked = { view: view ?? given, transport };
        const answer = resolve(query, asked, now);
        const from = held.get(key);
        if (from === undefined || now < from.nextExpiry || answer?.freshness !== 0) return answer;
        if (from.isLate || !isFresh(now)) return answer;
        const [lent, began] = [query.slice(), performance.now()];
        return this.#afterExpiry(key, now).then(() => resolve(lent, asked, now + performance.now() - began));
      },
      hasCluster(clusterId) {
        receive();
        return (view ?? clusterId) === clusterId && held.get(key)?.clusters.has(clusterId) === true;
      },
      status() {
        const { generation, scope, clusters: known = new Map() } = held.get(key) ?? {};
        const clusters = Array.from(known.values(), ({ status }) => status);
        const { behindSince } = scope ?? {};
        const status = { ...NOT_READY, clusters, ...(behindSince !== undefined && { behindSince }) };
        if (generation === undefined) return status;
        const { rootHash, byteLength: generationBytes } = generation;
        return { ...status, ready: true, rootHash, generationBytes };
      },
    };
  }

  /** Waits for the state without a cluster whose lease has expired, which the thread that compiles makes now. Answers that it does not change do not wait. */
  async #afterExpiry(key: string, now: number): Promise<void> {
    const waiting = () => {
      const held = this.#held.get(key);
      return held === undefined || held.isLate || now < held.nextExpiry ? undefined : held;
    };
    const late = this.#source.patience().then(() => {
      const held = waiting();
      if (held !== undefined) held.isLate = true;
    });
    while (waiting() !== undefined) await Promise.race([this.#nextUpdate.promise, late]);
  }

  #load({ root, serial }: SharedScope, before: Generation | undefined): Generation {
    const { hash, bytes } = root!;
    if (before?.rootHash === hash && before.serial === serial) return before;
    const document = writeRootDocument(bytes, this.#parts.read);
    if (document === undefined) throw new Error(`a part of the root ${hash} was not posted`);
    const generation = loadRoot(document, hash, serial, before, this.#parts);
    this.#loadPages(generation.names, isOfNames);
    this.#loadPages(generation.reverse, isOfReverseNames);
    return generation;
  }

  /** Loads the pages below a directory's top that the generation before did not have. */
  #loadPages<Content extends AnySegment>(
    { entries }: Page<Content>,
    isOfKind: (segment: AnySegment) => segment is Content,
  ): void {
    const memory = this.#parts.of(isOfKind);
    for (const { branch } of entries as readonly { readonly branch: Branch<Content> }[]) {
      if (branch.kind !== "page" || branch.page !== undefined) continue;
      const bytes = this.#parts.read(branch.hash);
      if (bytes === undefined) throw new Error(`the page ${branch.hash} was not posted`);
      branch.page = Page.load(bytes, branch.hash, false, memory);
    }
  }
}

/** The clusters of a scope after a change. */
function clustersAfter(
  { clusters, forgotten }: SharedScope,
  before: HeldScope | undefined,
): ReadonlyMap<string, ClusterTerms> {
  const after = new Map(before?.clusters);
  for (const clusterId of forgotten) after.delete(clusterId);
  for (const [clusterId, terms] of clusters) after.set(clusterId, terms);
  return after;
}

function firstExpiry(clusters: ReadonlyMap<string, ClusterTerms>): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { expiresAt = first } of clusters.values()) first = Math.min(first, expiresAt);
  return first;
}

/** Whether a state comes before the generation without a cluster whose lease expired. */
function isWithExpired(before: HeldScope, { root, clusters }: SharedScope): boolean {
  if (root === undefined || root.hash !== before.scope.root?.hash) return false;
  if (before.nextExpiry === Number.NEGATIVE_INFINITY) return true;
  return [...clusters].some(
    ([id, { expiresAt }]) => expiresAt === undefined && before.clusters.get(id)?.expiresAt !== undefined,
  );
}
