import type { DohGateway } from "../../../gateway/doh-gateway.ts";
import type { ServingStatus } from "../../../gateway/gateway-types.ts";
import { LeaseTables } from "../../../gateway/leases/lease-tables.ts";
import type { GatewayStages } from "../../../gateway/stages.ts";
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
  readonly scope: SharedScope;
}

/** How updates come. */
export interface SharedSource {
  /** Takes the updates that wait. Called before each answer, so that an answer follows every push that was acknowledged before its query. */
  readonly receive: () => void;
  /** Whether the thread that compiles has been heard of lately. */
  readonly isFresh: (now: number) => boolean;
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
      const { expiresAt } = scope;
      const leases = new LeaseTables((clusterId) => expiresAt.get(clusterId));
      this.#held.set(key, { generation, leases, scope });
    }
    for (const hash of dropped) this.#parts.drop(hash);
  }

  /** The gateway of a scope. */
  of(visibility: Visibility): DohGateway {
    const key = visibilityKey(visibility);
    const { view } = visibility;
    const held = this.#held;
    const stages = this.#stages;
    const { receive, isFresh } = this.#source;
    return {
      answer(query, given, now, transport) {
        receive();
        const asked = { view: view ?? given, transport };
        const { generation, leases, scope } = held.get(key) ?? {};
        if (generation === undefined) return stages.notReady(query, asked);
        const stale = scope!.behindSince !== undefined || !isFresh(now);
        return stages.resolve(query, { ...asked, generation, leases: leases!, now, stale });
      },
      hasCluster(clusterId) {
        receive();
        return (view ?? clusterId) === clusterId && held.get(key)?.scope.expiresAt.has(clusterId) === true;
      },
      status() {
        const { generation, scope } = held.get(key) ?? {};
        const { clusters = [], behindSince } = scope ?? {};
        const status = { ...NOT_READY, clusters, ...(behindSince !== undefined && { behindSince }) };
        if (generation === undefined) return status;
        const { rootHash, byteLength: generationBytes } = generation;
        return { ...status, ready: true, rootHash, generationBytes };
      },
    };
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
