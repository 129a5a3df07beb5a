import { type Branch, Page } from "../zone/generation/directory.ts";
import { Generation } from "../zone/generation/generation.ts";
import { FormatVersionError } from "../zone/segment/blob.ts";
import { BlobHeader, BlobKind } from "../zone/segment/layout.ts";
import { ReverseSegment } from "../zone/segment/reverse-segment.ts";
import { Segment } from "../zone/segment/segment.ts";
import type { AnySegment } from "./parts/any-segment.ts";
import { eachOf } from "./parts/each-of.ts";
import { type Lack, lacksOf } from "./parts/lacks.ts";
import { loadRoot, takeOver } from "./parts/load-root.ts";
import { checkHash, PartFetcher, type RequestStep } from "./parts/part-fetcher.ts";
import type { SegmentCache } from "./parts/segment-cache.ts";
import type { OnTransferEvent } from "./transfer-events.ts";
import type { NamedBytes, TransferredRoot, TransferSource } from "./transfer-state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Segments that are fetched at the same time. */
const PARALLEL = 6;
/** Segments in use that are replaced before a generation is answered from; more of them wait for queries. */
const MOST_FOLLOWED = 64;
/** How long a root of another format version is not transferred again, in milliseconds. */
const FOREIGN_FOR = 60_000;

/** A generation that was fetched, and is not answered from yet. */
export interface FetchedGeneration {
  readonly generation: Generation;
  /** The bytes of its root as they are transferred. */
  readonly document: Bytes;
  readonly segments: number;
  readonly bytes: number;
}

/** Fetches generations, rejects bad ones, and keeps the newest good one. */
export class GenerationKeeper {
  readonly #source: TransferSource;
  readonly #fetcher: PartFetcher;
  readonly #cache: SegmentCache<AnySegment> | undefined;
  readonly #onEvent: OnTransferEvent;
  #kept: FetchedGeneration | undefined;
  /** Segments that came with the newest root. */
  #offered: ReadonlyMap<string, Bytes> = new Map();
  /** Segments that were fetched for a generation that is not complete yet. */
  #begun = new Map<string, AnySegment>();
  #foreign: { readonly error: FormatVersionError; readonly hash: string; readonly at: number } | undefined;

  /**
   * @param cache holds the segments that queries need. Default: a generation is complete before it is answered from.
   */
  constructor(source: TransferSource, onEvent: OnTransferEvent, cache?: SegmentCache<AnySegment>) {
    this.#source = source;
    this.#fetcher = new PartFetcher(source, onEvent);
    this.#onEvent = onEvent;
    this.#cache = cache;
  }

  /** Whether no generation is kept. */
  get isEmpty(): boolean {
    return this.#kept === undefined;
  }

  /**
   * The generation of a root, of what is kept and of what the source gives.
   * @param serial of the SOA record
   * @returns undefined where the primary serves another one by now
   * @throws {Error} where the source fails or gives something else. @throws {FormatVersionError} for one that was rejected as such before
   */
  async fetch(
    hash: string,
    serial: number,
    now: number,
    request: RequestStep,
  ): Promise<FetchedGeneration | undefined> {
    const known = this.#foreign;
    if (known?.hash === hash && Math.abs(now - known.at) < FOREIGN_FOR) throw known.error;
    const kept = this.#kept;
    if (kept?.generation.rootHash === hash) return withSerial(kept, serial);
    const root = await this.#fetchRoot(hash, serial, now, request);
    if (root === undefined) return undefined;
    const { generation, document } = root;
    const sum = { segments: 0, bytes: document.length };
    let isGone = false;
    for (const kind of ["page", "segment"] as const)
      await eachOf(this.#wanted(generation, kind), PARALLEL, async (lack) => {
        if (isGone) return;
        const bytes = await this.#fetchLack(lack, request);
        isGone ||= bytes === undefined;
        sum.bytes += bytes ?? 0;
        sum.segments++;
      });
    return isGone ? undefined : { generation, document, ...sum };
  }

  /** Keeps a generation in place of the one before. @param begun when the transfer began */
  take(fetched: FetchedGeneration, begun: number, now: number): Generation {
    const { generation, segments, bytes } = fetched;
    const { rootHash } = generation;
    const isNew = this.#kept?.generation.rootHash !== rootHash;
    this.#kept = fetched;
    if (!isNew) return generation;
    this.#begun.clear();
    this.#offered = new Map();
    this.#fetcher.trust();
    this.#onEvent({ event: "transferred", rootHash, segments, bytes, milliseconds: now - begun });
    return generation;
  }

  /** Whether segments are in memory only as queries need them. */
  get isPartial(): boolean {
    return this.#cache !== undefined;
  }

  /** Whether a page or a segment is in memory. */
  has({ hash, page, segment }: Branch<AnySegment>): boolean {
    return page !== undefined || (this.#cache?.has(hash) ?? segment !== undefined);
  }

  /**
   * Brings a page or a segment into memory that a query needs.
   * @returns whether it is there; false where the primary serves another one by now
   * @throws {Error} where the source fails, or gives something else
   */
  async bring(branch: Branch<AnySegment>, request: RequestStep): Promise<boolean> {
    const bytes = await this.#fetchLack({ branch, before: undefined, loadSegment: loadAnySegment }, request);
    return bytes !== undefined;
  }

  async #fetchRoot(
    hash: string,
    serial: number,
    now: number,
    request: RequestStep,
  ): Promise<Pick<FetchedGeneration, "generation" | "document"> | undefined> {
    const { generation: before, document: bytes } = this.#kept ?? {};
    const since = before && bytes && { hash: before.rootHash, bytes };
    const fetch = (base: NamedBytes | undefined, signal: AbortSignal) =>
      this.#source.root(hash, base, signal);
    const load = ({ bytes: document, segments }: TransferredRoot) => {
      const generation = loadRoot(document, hash, serial, before, this.#cache);
      this.#offered = new Map(segments.map((segment) => [segment.hash, segment.bytes]));
      return { generation, document };
    };
    try {
      return await this.#fetcher.fetch({ kind: "root", hash, since, fetch, load }, request);
    } catch (error) {
      if (error instanceof FormatVersionError) this.#foreign = { error, hash, at: now };
      throw error;
    }
  }

  /**
   * What has to be fetched before a generation is answered from: all of it, or where segments come as queries need them, new ones in
   * place of those in memory. So a bad one never replaces a good one, and queries after a change do not wait.
   */
  *#wanted(generation: Generation, kind: "page" | "segment"): Generator<Lack> {
    const cache = this.#cache;
    const before = this.#kept?.generation;
    if (cache === undefined) return yield* lacksOf(generation, before, kind, isInMemory);
    let left = MOST_FOLLOWED;
    for (const lack of lacksOf(generation, before, kind, (branch) => cache.has(branch.hash))) {
      const isUsed = lack.before && (kind === "page" ? lack.before.page : cache.has(lack.before.hash));
      if (isUsed && left-- > 0) yield lack;
    }
  }

  /** @returns how many bytes it has; undefined where the primary serves another one by now */
  async #fetchLack({ branch, before, loadSegment }: Lack, request: RequestStep): Promise<number | undefined> {
    const { hash } = branch;
    const begun = this.#begun.get(hash);
    if (begun !== undefined) {
      branch.segment = begun;
      return 0;
    }
    const since = this.#cache === undefined ? (before?.page ?? before?.segment) : undefined;
    const fetch = async (base: NamedBytes | undefined, signal: AbortSignal) =>
      this.#offered.get(hash) ?? this.#source.segment(hash, base, signal);
    const checked = (bytes: Bytes) => checkHash(bytes, hash, "the segment");
    if (branch.kind === "page") {
      const load = (bytes: Bytes) => Page.load<AnySegment>(checked(bytes), hash, false, this.#cache);
      const page = await this.#fetcher.fetch({ kind: "segment", hash, since, fetch, load }, request);
      branch.page = page && takeOver(page, before?.page, this.#cache);
      return page?.bytes.length;
    }
    const load = (bytes: Bytes) => loadSegment(checked(bytes), hash);
    const segment = await this.#fetcher.fetch({ kind: "segment", hash, since, fetch, load }, request);
    branch.segment = segment;
    if (segment !== undefined && this.#cache === undefined) this.#begun.set(hash, segment);
    return segment?.bytes.length;
  }
}

/** A generation with another serial, which is not part of its content. */
function withSerial(kept: FetchedGeneration, serial: number): FetchedGeneration {
  const { generation } = kept;
  if (generation.serial === serial) return kept;
  const { trunk, names, reverse } = generation;
  return { ...kept, generation: new Generation(serial, trunk, names, reverse) };
}

function isInMemory({ segment }: Branch<AnySegment>): boolean {
  return segment !== undefined;
}

function loadAnySegment(bytes: Bytes, hash: string): AnySegment {
  const kind = bytes[BlobHeader.kind * 4];
  return kind === BlobKind.reverse ? ReverseSegment.load(bytes, hash) : Segment.load(bytes, hash);
}
