import { namespaceOf } from "../../merge/service-key.ts";
import type { ServiceLine, ServiceLines } from "./desired-lines.ts";
import { Exporters } from "./exporters.ts";

/** A line, or that there is none any more, since a version. */
interface KeptLine extends ServiceLine {
  readonly version: number;
  readonly isThere: boolean;
}

interface KeptService {
  readonly lines: Map<string, KeptLine>;
  exporters: readonly string[];
}

/** Removed lines that are remembered: a stream that resumes from before the oldest one begins with a snapshot. */
const MOST_REMOVED = 10_000;
const NO_SERVICE: KeptService = { lines: new Map(), exporters: [] };

/** Every line of a scope, each with the version since which it is as it is: what changed after a version follows from them without a log. */
export class KeptLines {
  /** Of the services with lines. */
  readonly exporters = new Exporters();
  #exporterChanges: {
    readonly namespace: string;
    readonly before: readonly string[];
    readonly after: readonly string[];
  }[] = [];
  readonly #services = new Map<string, KeptService>();
  /** The oldest first. */
  readonly #removed = new Map<
    string,
    { readonly key: string; readonly line: string; readonly version: number }
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

  /** Takes over the lines of a service; `settle` follows the last one of a version. @returns whether one changed */
  take(key: string, { lines, exporters }: ServiceLines, version: number): boolean {
    const kept = this.#services.get(key) ?? { lines: new Map(), exporters: [] };
    let isChanged = false;
    for (const [name, line] of lines) {
      const before = kept.lines.get(name);
      if (before?.isThere === true && before.text === line.text) continue;
      kept.lines.set(name, { ...line, version, isThere: true });
      this.#removed.delete(`${key} ${name}`);
      isChanged = true;
    }
    for (const [name, line] of kept.lines) {
      if (!line.isThere || lines.has(name)) continue;
      kept.lines.set(name, { ...line, text: "", version, isThere: false });
      this.#removed.set(`${key} ${name}`, { key, line: name, version });
      isChanged = true;
    }
    this.#exporterChanges.push({ namespace: namespaceOf(key), before: kept.exporters, after: exporters });
    kept.exporters = exporters;
    if (kept.lines.size > 0) this.#services.set(key, kept);
    this.#forget();
    return isChanged;
  }

  /** All services of a version were taken: their exporters count. Before, one would be known of which lines of other services are still missing. */
  settle(): void {
    for (const { namespace, before, after } of this.#exporterChanges)
      this.exporters.change(namespace, before, after);
    this.#exporterChanges = [];
  }

  /**
   * The lines of a service for a cluster that changed after a version.
   * @param isNew whether the cluster had none of them then; removed ones are sent all the same if they changed since
   */
  *changes(key: string, clusterId: string, after: number, isNew: boolean): Generator<string> {
    for (const { version, isThere, text, none, only, except } of this.#of(key)) {
      if ((only ?? clusterId) !== clusterId || except === clusterId) continue;
      if (isThere && (isNew || version > after)) yield text;
      else if (!isThere && version > after) yield none;
    }
  }

  /** Takes all lines of a service back that a cluster may have. */
  *withdrawals(key: string, clusterId: string): Generator<string> {
    for (const { none, only, except } of this.#of(key))
      if ((only ?? clusterId) === clusterId && except !== clusterId) yield none;
  }

  #of(key: string): Iterable<KeptLine> {
    return (this.#services.get(key) ?? NO_SERVICE).lines.values();
  }

  #forget(): void {
    for (const [name, { key, line, version }] of this.#removed) {
      if (this.#removed.size <= this.#mostRemoved) break;
      this.#removed.delete(name);
      this.#forgotten = version;
      const { lines } = this.#services.get(key) ?? NO_SERVICE;
      lines.delete(line);
      if (lines.size === 0) this.#services.delete(key);
    }
  }
}
