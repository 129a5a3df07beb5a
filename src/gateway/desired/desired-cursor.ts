import { namespaceOf } from "../../merge/service-key.ts";
import { textOf } from "./desired-lines.ts";
import type { KeptLines } from "./kept-lines.ts";
import type { NamespaceVersions } from "./namespace-versions.ts";

/** What a cursor reads: the feed that it is of. */
export interface CursorSource {
  /** Of the newest whole state. */
  readonly version: number;
  positionOf(version: number): string;
  /** The version before which removed lines and namespaces may be forgotten. */
  forgotten(clusterId: string): number;
  namespacesOf(clusterId: string): NamespaceVersions | undefined;
  /** Whether a cluster is live. */
  has(clusterId: string): boolean;
}

/** How far one stream has read the desired state of its cluster. It holds the names of changed services, and no lines. */
export class DesiredCursor {
  readonly clusterId: string;
  readonly #feed: CursorSource;
  readonly #kept: KeptLines;
  readonly #closed: () => void;
  /** The version that the reader has; undefined where it has nothing. */
  #version: number | undefined;
  #touched = new Set<string>();
  #isFirst = true;
  #isEnded = false;
  #lines: Iterator<string> | undefined;
  #wake: (() => void) | undefined;

  /** @param version the one that the reader has; undefined for a snapshot */
  constructor(
    feed: CursorSource,
    kept: KeptLines,
    clusterId: string,
    version: number | undefined,
    closed: () => void,
  ) {
    this.#feed = feed;
    this.#kept = kept;
    this.clusterId = clusterId;
    this.#version = version;
    this.#closed = closed;
  }

  /** Whether nothing follows: the cluster left, or the reader is so far behind that it must begin anew. */
  get isEnded(): boolean {
    const isBehind = this.#version !== undefined && this.#version < this.#feed.forgotten(this.clusterId);
    return this.#isEnded || isBehind || !this.#feed.has(this.clusterId);
  }

  /** Whether the reader has all that there is. */
  get isIdle(): boolean {
    return !this.#isFirst && this.#lines === undefined && this.#touched.size === 0;
  }

  /** The next lines, up to about `most` characters: at least one line, unless the reader has all that there is. */
  read(most: number): { readonly text: string; readonly lines: number } {
    let text = "";
    let lines = 0;
    while (text.length < most && !this.isIdle) {
      this.#lines ??= this.#batch();
      const next = this.#lines.next();
      if (next.done === true) this.#lines = undefined;
      else {
        text += next.value;
        lines++;
      }
    }
    return { text, lines };
  }

  /** A service changed. */
  touch(key: string): void {
    if (!this.#isFirst || this.#lines !== undefined) this.#touched.add(key);
  }

  /** Has something called when there may be something to read, or the end. */
  onWake(wake: () => void): void {
    this.#wake = wake;
  }

  wake(): void {
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.wake();
  }

  close(): void {
    this.#isEnded = true;
    this.#closed();
  }

  /** Lines that belong together, and their position. */
  *#batch(): Generator<string> {
    const upTo = this.#feed.version;
    const touched = this.#touched;
    this.#touched = new Set();
    if (this.#isFirst) {
      yield textOf({ start: this.#version === undefined ? "snapshot" : "changes", formatVersion: 1 });
      for (const key of this.#kept.keys()) yield* this.#linesOf(key);
    } else for (const key of touched) yield* this.#linesOf(key);
    this.#isFirst = false;
    this.#version = upTo;
    yield textOf({ position: this.#feed.positionOf(upTo) });
  }

  *#linesOf(key: string): Generator<string> {
    const namespaces = this.#feed.namespacesOf(this.clusterId);
    const namespace = namespaceOf(key);
    const hasNamespace = namespaces?.has(namespace) === true;
    if (this.#version === undefined) {
      if (hasNamespace) yield* this.#kept.changes(key, this.clusterId, Number.POSITIVE_INFINITY, true);
      return;
    }
    const isOther = namespaces?.hasChanged(namespace, this.#version) === true;
    if (hasNamespace) yield* this.#kept.changes(key, this.clusterId, this.#version, isOther);
    else if (isOther) yield* this.#kept.withdrawals(key, this.clusterId);
  }
}
