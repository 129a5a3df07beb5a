import type { ChangedRows, RowChange } from "../database/row-change.ts";
import type { LogMark } from "../database/writer.ts";
import { type Clock, inNextTurn, unixTime } from "../gateway/clock.ts";

/** Entries that are read together, at most: where there are fewer, the log has no more. */
export const ENTRIES_AT_ONCE = 64;

/** Where a log is. */
export interface LogHead extends LogMark {
  /**
   * Which log it is; empty before the first entry. It changes where the log has lost entries: equal positions
   * mean equal states in logs of one name alone.
   */
  readonly log: string;
  /** The first entry after the requested position: its position, and the id of the entry before it. */
  readonly next: { readonly position: number; readonly before: string } | undefined;
  /** The first day of the gateways, as JSON. */
  readonly founding: string | undefined;
  /** The clock of the log, in Unix milliseconds. */
  readonly now: number;
  /** Another one where another server may have replied, which may have lost what the one before had. */
  readonly session: number;
}

/** A change of one cluster that a gateway would like to add. */
export interface LogDraft {
  /** Of its entry. */
  readonly id: string;
  /** See `LogHead.log`. */
  readonly log: string;
  /** The sum of the cluster's row that it builds on; 0 for none. */
  readonly base: number;
  readonly change: RowChange;
  /** Milliseconds until the lease ends. */
  readonly lease: number;
}

/** An entry: every gateway writes the rows of all of them, in the order of their positions. */
export interface LogEntry extends LogMark {
  /** The id of the entry before it. */
  readonly before: string;
  /** The id of the cluster that it changes; empty where it does not say. */
  readonly cluster: string;
  /** Undefined where it cannot be read, or is not there any more. */
  readonly change: RowChange | undefined;
}

/** A cluster as a log has it. */
export interface SharedCluster {
  readonly id: string;
  /** Of `text`. */
  readonly sum: number;
  /** A `ClusterRow` as JSON; anything where the log is damaged. */
  readonly text: string;
}

/** A cluster with all its rows. */
export interface WholeCluster extends SharedCluster {
  readonly rows: ChangedRows;
}

/**
 * A log of changes that several gateways share, and beside it the rows that they make, from which a new
 * gateway starts: the log is trimmed. All functions reject with a `StoreError` STORE_FULL or STORE_FAILED:
 * what was to be added may have been added all the same, and is among the entries then.
 */
export interface SharedLog {
  /** @param after a position */
  head(after: number): Promise<LogHead>;
  /**
   * Adds an entry, and changes the rows beside the log with it, at once or not at all.
   * @returns its position; `changed` where the cluster's row is not the one that the change builds on, or a
   * lease that is to expire has not ended on the log's clock; `other` where the log is another one
   */
  append(draft: LogDraft): Promise<number | "changed" | "other">;
  /**
   * The next entries after a position, in order, see `ENTRIES_AT_ONCE`; none where there is none for about a
   * second. Not called before the promise before has settled.
   */
  entries(after: number): Promise<LogEntry[]>;
  clusters(): Promise<SharedCluster[]>;
  /**
   * All rows of a cluster, some at a time. One that changes meanwhile is there as before or as after that.
   */
  rows(cluster: string): AsyncIterable<ChangedRows>;
  /** Clusters and all their rows as they are together after one entry, and its position. */
  whole(clusters: readonly string[]): Promise<{ position: number; clusters: WholeCluster[] }>;
  /** Gives a log another name, unless it has another one already. */
  rename(from: string, to: string): Promise<void>;
  close(): void;
}

/**
 * The clock of a gateway whose wall clock is that of a shared log, so that times in rows mean the same on all
 * gateways.
 */
export function sharedClock(clock: Clock) {
  /** By how many milliseconds the log's clock is ahead. */
  let offset = unixTime(clock, 0);
  const now = () => clock.now();
  return {
    now,
    wallOffset: () => offset,
    setTimer: (milliseconds: number, run: () => void) => clock.setTimer(milliseconds, run),
    nextTurn: (run: () => void) => inNextTurn(clock, run),
    /** Takes over what the log's clock showed. @param since when it was requested, by this clock */
    see(since: number, shown: number): void {
      // It showed that at some instant between then and now: an offset that may be right stays.
      offset = Math.min(Math.max(offset, shown - now()), shown - since);
    },
  };
}
