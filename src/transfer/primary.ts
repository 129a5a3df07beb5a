import type { GatewayStatus, ServingStatus } from "../gateway/gateway-types.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { BlobHeader, BlobKind } from "../zone/segment/layout.ts";
import type { UsedPart } from "./parts/follow-parts.ts";
import { KeptParts } from "./parts/kept-parts.ts";
import { partChange } from "./parts/part-change.ts";
import { writeRootDocument, writeRootNews } from "./parts/root-responses.ts";
import { ServedParts } from "./parts/served-parts.ts";
import { ownBytes } from "./parts/shared/shared-bytes.ts";
import type { TransferState } from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What transfers need of a gateway in one scope. */
export interface ScopeState {
  status(): ServingStatus & Partial<Pick<GatewayStatus, "conflicts" | "findings">>;
  /** What is served at `now` (Unix milliseconds); undefined while names cannot be denied. */
  current(now: number): { readonly generation: Generation } | undefined;
}

/** What transfers need of the gateway that compiles. */
export interface TransferGateway extends ScopeState {
  /** By `visibilityKey`. Default: everything is the only scope. */
  readonly scopes?: ReadonlyMap<string, ScopeState>;
}

/** Bytes of parts that were replaced since a state named them, kept for secondaries that are about to fetch them. */
const KEPT_BYTES = 16 * 1024 * 1024;
/** How long such a part is kept, in milliseconds. */
const KEPT_FOR = 10_000;
/** Bytes of new segments that are sent with the change of a root: more of them are left for those that need them. */
const MOST_NEWS_BYTES = 128 * 1024;

/** A root or a segment as it is sent. */
export interface SentPart {
  readonly bytes: Bytes;
  /** The hash of the part that `bytes` are the change of (part-change.ts, root-responses.ts); "" for the whole part. */
  readonly since: string;
}

/** What a primary gives the secondaries of one scope. */
export interface ScopeTransfer {
  state(): TransferState;
  /**
   * The document of a root, or what is new in it since another one (root-responses.ts); undefined where it is neither the newest nor was named
   * lately.
   */
  root(hash: string, since: string): SentPart | undefined;
  /** A segment, or a page of a directory, as `root`. */
  segment(hash: string, since: string): SentPart | undefined;
}

/**
 * What a primary gives its secondaries: its state, and the parts of the generations that states named. Where pushes come faster than a
 * secondary's round trip, parts of a state are replaced before they are requested, so those that a state named lately are kept. A scope has
 * the parts of its own generations only.
 */
export class Primary {
  readonly #gateway: TransferGateway;
  readonly #clock: () => number;
  readonly #kept: KeptParts;
  readonly #scopes = new Map<string, ScopeTransfer>();

  /**
   * @param clock Unix milliseconds
   * @param keptBytes bytes of parts beside those of the newest generations that are kept
   */
  constructor(gateway: TransferGateway, clock: () => number = Date.now, keptBytes = KEPT_BYTES) {
    this.#gateway = gateway;
    this.#clock = clock;
    this.#kept = new KeptParts(keptBytes, KEPT_FOR);
  }

  /** What secondaries of a scope get, by its `visibilityKey`, "" for everything; undefined where the gateway was not opened with that scope. */
  of(scope: string): ScopeTransfer | undefined {
    const known = this.#scopes.get(scope);
    if (known !== undefined) return known;
    const gateway = scope === "" ? this.#gateway : this.#gateway.scopes?.get(scope);
    if (gateway === undefined) return undefined;
    const transfer = this.#open(gateway, scope);
    this.#scopes.set(scope, transfer);
    return transfer;
  }

  #open(gateway: ScopeState, scope: string): ScopeTransfer {
    const parts = new ServedParts(this.#kept, `${this.#scopes.size}/`);
    const generationAt = (now: number) => gateway.current(now)?.generation;
    /** Finds parts of what is served now, or was lately. */
    const find = () => {
      const now = this.#clock();
      parts.follow(generationAt(now), undefined);
      return (hash: string) => parts.get(hash, now);
    };
    return {
      state: () => {
        const at = this.#clock();
        const { conflicts: _, findings: __, storeTrouble: ___, ...status } = gateway.status();
        const generation = generationAt(at);
        parts.follow(generation, at);
        const serial = generation?.serial;
        return {
          at,
          ...(scope !== "" && { scope }),
          ...(serial !== undefined && { serial }),
          status,
        };
      },
      root: (hash, since) => {
        const partOf = find();
        const documentOf = (root: string) => {
          const bytes = partOf(root);
          return bytes && isRoot(bytes) ? writeRootDocument(bytes, partOf) : undefined;
        };
        const part = sent(documentOf, hash, since);
        if (part === undefined || part.since === "") return part;
        const isNewest = generationAt(this.#clock())?.rootHash === hash;
        const segments = isNewest ? withinBytes(parts.newSince(since), MOST_NEWS_BYTES) : [];
        return { bytes: writeRootNews({ change: part.bytes, segments }), since };
      },
      segment: (hash, since) => sent(find(), hash, since),
    };
  }
}

function isRoot(bytes: Bytes): boolean {
  return bytes[BlobHeader.kind * 4] === BlobKind.root;
}

/** A part, or its change where that is shorter. */
function sent(
  partOf: (hash: string) => Bytes | undefined,
  hash: string,
  since: string,
): SentPart | undefined {
  const bytes = partOf(hash);
  const before = since === "" || since === hash ? undefined : partOf(since);
  if (bytes === undefined || before === undefined) return bytes && { bytes: ownBytes(bytes), since: "" };
  const change = partChange(before, bytes);
  return change.length < bytes.length ? { bytes: change, since } : { bytes: ownBytes(bytes), since: "" };
}

/** All parts if they have at most that many bytes together, else none. */
function withinBytes(parts: readonly UsedPart[], most: number): readonly Bytes[] {
  const isWithin = parts.reduce((sum, { byteLength }) => sum + byteLength, 0) <= most;
  return isWithin ? parts.flatMap((part) => part.read() ?? []) : [];
}
