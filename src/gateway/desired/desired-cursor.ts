import { textOf } from "./desired-lines.ts";

/** What a cursor reads: the feed that it is of. */
export interface CursorSource {
  /** Of the newest change. */
  readonly version: number;
  positionOf(version: number): string;
  /** The version before which changes may be forgotten. */
  forgotten(clusterId: string): number;
  /** Whether a cluster is live. */
  has(clusterId: string): boolean;
  namespacesOf(clusterId: string): Iterable<string>;
  keysOf(clusterId: string, name: string): Iterable<string>;
  linesOf(clusterId: string, key: string, after: number | undefined): Iterable<string>;
}

/** How far one stream has read the desired state of its cluster. It holds the names of what changed, and no lines. */
export class DesiredCursor {
  readonly clusterId: string;
  readonly #feed: CursorSource;
  readonly #closed: () => void;
  /** The version that the reader has; undefined where it has nothing. */
  #version: number | undefined;
  #touched = new Set<string>();
  #isFirst = true;
  #isEnded = false;
  #lines: Iterator<string> | undefined;
  #wake: (() => void) | undefined;

  /** @param version the one that the reader has; undefined for a snapshot */
  constructor(feed: CursorSource, clusterId: string, version: number | undefined, closed: () => void) {
    this.#feed = feed;
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

  /** Something changed. @param name as the feed has it */
  touch(name: string): void {
    const isInSnapshot = this.#version === undefined && this.#isFirst && this.#lines === undefined;
    if (!isInSnapshot) this.#touched.add(name);
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
    const { clusterId } = this;
    const upTo = this.#feed.version;
    const touched = this.#touched;
    this.#touched = new Set();
    const isSnapshot = this.#version === undefined;
    if (this.#isFirst) yield textOf({ start: isSnapshot ? "snapshot" : "changes", formatVersion: 1 });
    if (isSnapshot) for (const namespace of this.#feed.namespacesOf(clusterId)) touched.add(`${namespace}/`);
    const read = new Set<string>();
    for (const name of touched)
      for (const key of this.#feed.keysOf(clusterId, name)) {
        if (read.has(key)) continue;
        read.add(key);
        yield* this.#feed.linesOf(clusterId, key, this.#version);
      }
    this.#isFirst = false;
    this.#version = upTo;
    yield textOf({ position: this.#feed.positionOf(upTo) });
  }
}
