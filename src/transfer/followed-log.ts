import type { LogRow } from "../database/reader.ts";
import type { Mark } from "../names/key-changes.ts";
import { PartCache, type PartMemory } from "./part-cache.ts";
import type { PartFetcher } from "./part-fetcher.ts";
import { changesAfter, readChanges, readWorld, type SentWorld } from "./part-forms.ts";
import { markText } from "./part-names.ts";
import { ReaderWorld, wantedKey } from "./reader-world.ts";
import type { TransferState } from "./transfer-state.ts";

/** Keys in use that changed and are fetched before a state is answered from; more of them wait for queries. */
const MOST_FOLLOWED = 64;

/** What a state says that is not known yet. */
export interface News {
  readonly state: TransferState;
  /** Changes after those that are known; with `isOther` those since the base. */
  readonly rows: readonly LogRow[];
  /** Whether this is another log than the one before, or too much of it is not known. */
  readonly isOther: boolean;
  /** Undefined where it is the one before. */
  readonly world: SentWorld | undefined;
}

/** A primary's log in one scope, as far as a reader follows it, with what is answered from. */
export class FollowedLog {
  readonly #fetcher: PartFetcher;
  readonly #memory: PartMemory;
  #cache: PartCache | undefined;
  #world: { readonly hash: string; readonly world: ReaderWorld } | undefined;
  /** `recent` of the state before. */
  #recent: Mark | undefined;

  constructor(fetcher: PartFetcher, memory: PartMemory) {
    this.#fetcher = fetcher;
    this.#memory = memory;
  }

  /** Undefined before the first state. */
  get cache(): PartCache | undefined {
    return this.#cache;
  }

  /**
   * Fetches what a state names and is not here.
   * @throws {Error} where it cannot be had, or is not well-formed
   */
  async fetch(state: TransferState): Promise<News> {
    if (state.world === undefined) throw new Error("the primary is ready, but names no world");
    const rows = await this.#rowsAfterKnown(state);
    const isOther = rows === undefined;
    let world: SentWorld | undefined;
    if (isOther || this.#world?.hash !== state.world) {
      const name = { kind: "world", of: {} } as const;
      world = (await this.#fetcher.fetch(name, state.world, state.epoch, readWorld))?.value;
      if (world === undefined) throw new Error("the primary's world changed with each request");
    }
    const news = { state, rows: rows ?? (await this.#rowsAfter(state.base, state)), isOther, world };
    if (!isOther) await this.#follow(news.rows);
    return news;
  }

  /** Takes over what was fetched. @throws {Error} where the primary's settings are none */
  take({ state, rows, isOther, world }: News): ReaderWorld {
    // Another attempt may have taken over some of it.
    if (isOther || this.#cache === undefined)
      this.#cache = new PartCache(this.#memory, state.epoch, state.base);
    const cache = this.#cache;
    for (const row of rows) if (row.position === cache.changes.newest.position + 1) cache.changes.take(row);
    cache.base = state.base;
    this.#recent = state.recent;
    if (world !== undefined)
      this.#world = {
        hash: state.world!,
        world: new ReaderWorld(world, cache, isOther ? undefined : this.#world?.world),
      };
    const own = this.#world!.world;
    own.serial = state.serial ?? own.serial;
    return own;
  }

  /** The changes after the newest known one; undefined where what is known is of no use. */
  async #rowsAfterKnown(state: TransferState): Promise<readonly LogRow[] | undefined> {
    const cache = this.#cache;
    if (cache === undefined || cache.epoch !== state.epoch) return undefined;
    const { newest } = cache.changes;
    const from = newest.position >= state.recent.position ? state.recent : this.#recent!;
    let rows: readonly LogRow[];
    try {
      rows = await this.#rowsAfter(from, state);
    } catch (error) {
      if (error instanceof OtherLog) return undefined;
      throw error;
    }
    const known = newest.position === from.position ? from : rows[newest.position - from.position - 1];
    if (known?.generation !== newest.generation) return undefined;
    return rows.slice(newest.position - from.position);
  }

  /** The changes after a mark, up to a state. @throws {OtherLog} where the primary does not have them */
  async #rowsAfter(from: Mark, { recent, changes, epoch }: TransferState): Promise<readonly LogRow[]> {
    const newest = changesAfter(recent, changes);
    if (from.position >= recent.position) return newest.slice(from.position - recent.position);
    const name = { kind: "changes", of: { from: markText(from) } } as const;
    const before = await this.#fetcher.fetch(name, markText(recent), epoch, readChanges);
    if (before === undefined) throw new OtherLog("the primary's log has other changes by now");
    const rows = [...changesAfter(from, before.value), ...newest];
    if (before.value.length !== recent.position - from.position)
      throw new Error("the primary did not send all changes");
    return rows;
  }

  /** Fetches keys in use that changed, so that queries after the change do not wait. */
  async #follow(rows: readonly LogRow[]): Promise<void> {
    const cache = this.#cache!;
    const wanted = new Map(
      rows.flatMap((row) =>
        (row.keys ?? []).flatMap((key) =>
          ["clusterset", "federation", `local:${row.cluster}`].flatMap((zone) => {
            const slash = key.indexOf("/");
            if (slash < 1 || slash === key.length - 1) return [];
            const part = wantedKey(zone, key.slice(0, slash), key.slice(slash + 1), row);
            return cache.has(part.hash) ? [[part.hash, part] as const] : [];
          }),
        ),
      ),
    );
    const first = [...wanted.values()].slice(-MOST_FOLLOWED);
    // One that cannot be had is fetched when a query needs it.
    await Promise.allSettled(first.map((part) => this.#fetcher.load(part, cache)));
  }
}

/** The primary does not have the changes that are needed. */
class OtherLog extends Error {}
