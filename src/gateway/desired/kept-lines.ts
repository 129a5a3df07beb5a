import { sumOf } from "../../database/sums.ts";
import { type ServiceLine, type ServiceLines, withdrawalOf } from "./desired-lines.ts";

/** What is kept of a line, or that there is none any more, since a version. */
interface KeptLine extends Pick<ServiceLine, "only" | "except"> {
  readonly version: number;
  readonly isThere: boolean;
  readonly sum: number;
}

/** Removed lines that are remembered: a stream that is further behind than the oldest one begins with a snapshot. */
const MOST_REMOVED = 10_000;
const NO_LINES: ReadonlyMap<string, KeptLine> = new Map();

/** Since when each line that was derived is as it is. Its text is derived when it is read. */
export class KeptLines {
  readonly #services = new Map<string, Map<string, KeptLine>>();
  /** Removed lines, the oldest first. */
  readonly #removed = new Map<
    string,
    { readonly key: string; readonly name: string; readonly version: number }
  >();
  readonly #mostRemoved: number;
  #forgotten = 0;

  constructor(mostRemoved: number = MOST_REMOVED) {
    this.#mostRemoved = mostRemoved;
  }

  /** The version up to which removed lines may be forgotten. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** `<namespace>/<name>` of every service with lines, also of removed ones. */
  keys(): Iterable<string> {
    return this.#services.keys();
  }

  /** Takes over the lines of a service as they are now. @param version the newest */
  take(key: string, lines: ServiceLines, version: number): void {
    const kept = this.#services.get(key) ?? new Map<string, KeptLine>();
    for (const [name, { text, only, except }] of lines) {
      const before = kept.get(name);
      const sum = sumOf(text);
      if (before?.isThere === true && before.sum === sum) continue;
      kept.set(name, { sum, only, except, version, isThere: true });
      this.#removed.delete(`${key} ${name}`);
    }
    for (const [name, line] of kept) {
      if (!line.isThere || lines.has(name)) continue;
      kept.set(name, { ...line, version, isThere: false });
      this.#removed.set(`${key} ${name}`, { key, name, version });
    }
    if (kept.size > 0) this.#services.set(key, kept);
    this.#forget();
  }

  /**
   * The lines of a service for a cluster that changed after a version.
   * @param lines as `take` got them last
   * @param isNew whether the cluster had none of them then; removed ones are sent all the same if they changed since
   */
  *changes(
    key: string,
    lines: ServiceLines,
    clusterId: string,
    after: number,
    isNew: boolean,
  ): Generator<string> {
    for (const [name, { version, isThere }] of this.#linesFor(key, clusterId)) {
      const text = isThere ? lines.get(name)?.text : withdrawalOf(key, name);
      if (text !== undefined && ((isThere && isNew) || version > after)) yield text;
    }
  }

  /** Takes all lines of a service back that a cluster may have. */
  *withdrawals(key: string, clusterId: string): Generator<string> {
    for (const [name] of this.#linesFor(key, clusterId)) yield withdrawalOf(key, name);
  }

  *#linesFor(key: string, clusterId: string): Generator<[name: string, line: KeptLine]> {
    for (const one of this.#services.get(key) ?? NO_LINES) {
      const { only, except } = one[1];
      if ((only ?? clusterId) === clusterId && except !== clusterId) yield one;
    }
  }

  #forget(): void {
    for (const [id, { key, name, version }] of this.#removed) {
      if (this.#removed.size <= this.#mostRemoved) break;
      this.#removed.delete(id);
      this.#forgotten = version;
      const lines = this.#services.get(key);
      lines?.delete(name);
      if (lines?.size === 0) this.#services.delete(key);
    }
  }
}
