import { isJsonObject, pathOfPrototypeKey } from "../snapshot/json-value.ts";
import type { ReadLine } from "../snapshot/lines/lines-reader.ts";
import type { EntryPatch, Single } from "../snapshot/lines/patch-line.ts";
import { COLLECTION_PLANS, type EntryPlan, SINGLE_PLANS } from "../snapshot/lines/split-patch.ts";
import {
  type Collection,
  ENOUGH_ISSUES,
  formatPath,
  SnapshotError,
  type SnapshotIssue,
} from "../snapshot/parse.ts";
import { EntryDraft, FULL_PART } from "./entry-draft.ts";
import { findingsKey, KIND_OF, Kind, podsKey } from "./places.ts";
import type { EntryRow, Reader } from "./reader.ts";
import { bucketMembers, type Facts, factsOf, isBucket } from "./reader.ts";

/** An entry as it becomes. */
export interface StagedEntry {
  /** JSON, in parts; none for an entry that is removed. */
  readonly texts: readonly string[];
  /** Where they are known already. */
  readonly facts?: Facts | undefined;
}

/** Valid entries of a cluster, which nothing has been done with. */
export interface Staged {
  readonly cluster: string;
  /**
   * `whole`: the cluster has these entries alone. `changes`: it has them instead of those of the same kind
   * and name.
   */
  readonly kind: "whole" | "changes";
  /** By kind and name. */
  readonly entries: ReadonlyMap<Kind, ReadonlyMap<string, StagedEntry>>;
}

/** An entry while its lines come. */
interface OpenEntry {
  draft: EntryDraft;
  /** What the database has, as far as the lines of a whole state are the same: they are valid. */
  same: readonly string[] | undefined;
  /** Lines so far that were the same. */
  lines: number;
  facts: Facts | undefined;
  /** After an error the entry's other lines would only repeat it. */
  failed: boolean;
  wasClosed: boolean;
}

/** Everything before the value in a line that was read. */
const BEFORE_VALUE = /\s*\[\s*"(?:[^"\\]|\\.)*"\s*,\s*(?:"(?:[^"\\]|\\.)*"\s*,\s*)?/y;

/**
 * Takes the lines of a push one by one, each validated as it comes, and keeps them as texts. Lines of a whole
 * state that the database has already are not validated again. The cluster must not change while changes are
 * staged; while a whole state is staged it may.
 */
export class Stage {
  readonly #cluster: string;
  readonly #kind: Staged["kind"];
  readonly #reader: Pick<Reader, "entry">;
  readonly #onName: (kind: Kind, names: number, together: number) => void;
  readonly #names = new Map<Kind, number>();
  readonly #entries = new Map<Kind, Map<string, OpenEntry>>();
  /** Pods and findings: by kind, row and name; empty for one that is removed. */
  readonly #buckets = new Map<Kind, Map<string, Map<string, string>>>();
  /** Names of pods and findings with errors, by kind. */
  readonly #failed = new Map<Kind, Set<string>>();
  readonly #issues: SnapshotIssue[] = [];
  #last: OpenEntry | undefined;
  #line = 0;
  /** Characters that the newest line had read from the database. */
  #read = 0;

  /**
   * @param onName called with each further name of a kind, also of entries that go: how many there are, and
   * how many pods or findings its row has; may throw
   */
  constructor(
    reader: Pick<Reader, "entry">,
    cluster: string,
    kind: Staged["kind"],
    onName: (kind: Kind, names: number, together: number) => void = () => {},
  ) {
    this.#reader = reader;
    this.#onName = onName;
    this.#cluster = cluster;
    this.#kind = kind;
  }

  /**
   * Takes a line. Errors are gathered, for `finish` to throw.
   * @returns how many characters of the database were read for it
   * @throws {SnapshotError} once a thousand errors were found
   */
  apply(line: ReadLine): number {
    this.#line = line.number;
    this.#read = 0;
    const [name, key] = line.change as readonly [Collection | Single, string | EntryPatch];
    const kind = KIND_OF[name];
    const patch = line.change.at(-1) as EntryPatch;
    const path = typeof key === "string" ? [name, key] : [name];
    if (isBucket(kind)) this.#applyToBucket(kind, path, patch, line);
    else this.#applyToEntry(kind, path, patch, line);
    if (this.#issues.length >= ENOUGH_ISSUES) throw new SnapshotError(this.#issues.slice(0, ENOUGH_ISSUES));
    return this.#read;
  }

  /** What the lines say. @throws {SnapshotError} naming the line and the field of each error */
  finish(): Staged {
    const entries = new Map<Kind, Map<string, StagedEntry>>();
    for (const [kind, open] of this.#entries) {
      const table = new Map<string, StagedEntry>();
      for (const [name, entry] of open) table.set(name, this.#finished(kind, name, entry));
      entries.set(kind, table);
    }
    for (const [kind, buckets] of this.#buckets)
      entries.set(
        kind,
        new Map(Array.from(buckets, ([row, members]) => [row, { texts: bucketTexts(members) }])),
      );
    if (this.#issues.length > 0) throw new SnapshotError(this.#issues);
    return { cluster: this.#cluster, kind: this.#kind, entries };
  }

  #applyToEntry(kind: Kind, path: readonly string[], patch: EntryPatch, line: ReadLine): void {
    const table = this.#entries.get(kind) ?? new Map<string, OpenEntry>();
    this.#entries.set(kind, table);
    const name = path.at(-1)!;
    let entry = table.get(name);
    if (entry === undefined) {
      this.#count(kind);
      entry = this.#start(kind, path);
      table.set(name, entry);
    }
    if (this.#last !== entry) this.#leave();
    this.#last = entry;
    if (entry.failed) return;
    const issues = this.#issues.length;
    if (line.hasPrototypeKey) this.#reportPrototypeKey(path, patch);
    else {
      if (patch !== null) this.#checkKey(path);
      const text = patch === null ? "" : valueText(line.text);
      if (entry.same?.[entry.lines] === text) entry.lines++;
      else {
        this.#validateSame(kind, path, entry);
        this.#apply(kind, path, entry, patch, text);
      }
    }
    entry.failed = this.#issues.length > issues;
  }

  /**
   * Holds as text what was parsed of the entry before: an entry of which more lines come later stays parsed,
   * whatever comes in between.
   */
  #leave(): void {
    if (this.#last === undefined || this.#last.wasClosed || this.#last.failed) return;
    this.#last.draft.close();
    this.#last.wasClosed = true;
  }

  #start(kind: Kind, path: readonly string[]): OpenEntry {
    const found = this.#entry(kind, path.at(-1)!);
    const texts = found === undefined || found.texts[0] === "" ? [] : found.texts;
    const isWhole = this.#kind === "whole";
    const draft = new EntryDraft(planOf(path), isWhole ? [] : texts);
    const same = isWhole && texts.length > 0 ? texts : undefined;
    return { draft, same, lines: 0, facts: undefined, failed: false, wasClosed: false };
  }

  /**
   * Takes the lines so far, which the database has, as if they were new: what follows is something else than
   * there.
   */
  #validateSame(kind: Kind, path: readonly string[], entry: OpenEntry): void {
    const { same, lines } = entry;
    entry.same = undefined;
    for (const text of same?.slice(0, lines) ?? []) this.#apply(kind, path, entry, JSON.parse(text), text);
  }

  #apply(kind: Kind, path: readonly string[], entry: OpenEntry, patch: EntryPatch, text: string): void {
    const { draft } = entry;
    entry.facts = undefined;
    if (!draft.exists && isJsonObject(patch) && planOf(path).schema.safeParse(patch).success) {
      draft.create(text);
      entry.facts = factsOf(kind, path.at(-1)!, patch);
    } else draft.apply(patch, path, (at, message) => this.#report(at, message));
  }

  #finished(kind: Kind, name: string, entry: OpenEntry): StagedEntry {
    const { same, lines, facts } = entry;
    if (same?.length === lines) return { texts: same };
    const collection = (Object.keys(KIND_OF) as (keyof typeof KIND_OF)[]).find(
      (one) => KIND_OF[one] === kind,
    )!;
    const path = kind === Kind.single ? [name] : [collection, name];
    this.#validateSame(kind, path, entry);
    return { texts: entry.draft.texts(), facts };
  }

  #applyToBucket(kind: Kind, path: readonly string[], patch: EntryPatch, line: ReadLine): void {
    const name = path[1]!;
    const failed = this.#failed.get(kind) ?? new Set();
    if (failed.has(name)) return;
    const issues = this.#issues.length;
    if (line.hasPrototypeKey) this.#reportPrototypeKey(path, patch);
    else {
      if (patch !== null) this.#checkKey(path);
      const members = this.#bucket(kind, kind === Kind.pods ? podsKey(name) : findingsKey(name));
      if (!members.has(name)) this.#count(kind, members.size + 1);
      const before = members.get(name) ?? "";
      if (patch === null) members.set(name, "");
      else if (before === "" && planOf(path).schema.safeParse(patch).success)
        members.set(name, valueText(line.text));
      else {
        const draft = new EntryDraft(planOf(path), before === "" ? [] : [before]);
        draft.apply(patch, path, (at, message) => this.#report(at, message));
        members.set(name, draft.texts()[0] ?? "");
      }
    }
    if (this.#issues.length > issues) this.#failed.set(kind, failed.add(name));
  }

  /** The members of a row of pods or findings as they are now. */
  #bucket(kind: Kind, row: string): Map<string, string> {
    const buckets = this.#buckets.get(kind) ?? new Map<string, Map<string, string>>();
    this.#buckets.set(kind, buckets);
    let members = buckets.get(row);
    if (members === undefined) {
      const found = this.#kind === "whole" ? undefined : this.#entry(kind, row);
      members = bucketMembers(found);
      buckets.set(row, members);
    }
    return members;
  }

  #entry(kind: Kind, name: string): EntryRow | undefined {
    const found = this.#reader.entry(this.#cluster, kind, name);
    for (const { length } of found?.texts ?? []) this.#read += length;
    return found;
  }

  #count(kind: Kind, together = 1): void {
    const names = (this.#names.get(kind) ?? 0) + 1;
    this.#names.set(kind, names);
    this.#onName(kind, names, together);
  }

  #checkKey(path: readonly string[]): void {
    const [collection, key] = path as [Collection, string | undefined];
    if (key === undefined) return;
    const checked = COLLECTION_PLANS[collection].key.safeParse(key);
    if (!checked.success)
      this.#report(formatPath(path), `is not a valid key: ${checked.error.issues[0]?.message}`);
    else if (!key.isWellFormed() || key.includes("\0"))
      this.#report(formatPath(path), "is not a valid key: must be Unicode without U+0000");
  }

  #reportPrototypeKey(path: readonly string[], patch: EntryPatch): void {
    this.#report(formatPath([...path, ...(pathOfPrototypeKey(patch) ?? [])]), "is not a known field");
  }

  #report(path: string, message: string): void {
    this.#issues.push({ path, message, line: this.#line });
  }
}

function planOf(path: readonly string[]): EntryPlan {
  return path.length === 1 ? SINGLE_PLANS[path[0] as Single] : COLLECTION_PLANS[path[0] as Collection].member;
}

/** Members as JSON objects, in the order of names; nothing for none. */
function bucketTexts(members: ReadonlyMap<string, string>): string[] {
  const names = [...members.keys()].filter((name) => members.get(name) !== "").sort();
  const parts: string[] = [];
  let part = "";
  for (const [index, name] of names.entries()) {
    part += `${part === "" ? "{" : ","}${JSON.stringify(name)}:${members.get(name)}`;
    if (part.length < FULL_PART && index < names.length - 1) continue;
    parts.push(`${part}}`);
    part = "";
  }
  return parts;
}

/** The JSON of the value of a line, as it was sent. */
function valueText(line: string): string {
  BEFORE_VALUE.lastIndex = 0;
  BEFORE_VALUE.test(line);
  return line.slice(BEFORE_VALUE.lastIndex, line.lastIndexOf("]")).trimEnd();
}
