import type { EntryChange, SnapshotDelta } from "../entry-changes.ts";
import { memberNames } from "../held/member-names.ts";
import { equalJson, isJsonObject, pathOfPrototypeKey } from "../json-value.ts";
import { COLLECTIONS, type Collection, ENOUGH_ISSUES, SINGLES } from "../parse.ts";
import { formatPath, SnapshotError, type SnapshotIssue } from "../snapshot-error.ts";
import { COLLECTION_PLANS, SINGLE_PLANS } from "./entry-plan.ts";
import type { HeldState } from "./held-state.ts";
import type { ReadLine } from "./lines-reader.ts";
import type { EntryPatch, PatchLine, Single } from "./patch-line.ts";
import { ValuePatcher } from "./patch-value.ts";

/** Entries of one step, and those of which each is parsed to be compared. */
const ENTRIES_AT_ONCE = 256;
const COMPARED_AT_ONCE = 16;

/** Whether lines are all that a cluster has, or what changed. */
export type LinesKind = "whole" | "changes";

/** An entry that lines changed. */
interface StagedEntry {
  value: unknown;
  /** The value before changes. */
  readonly before: unknown;
  /** After an error the entry's other lines would only repeat it. */
  failed: boolean;
}

/**
 * Takes the changes of lines one by one, each validated as it comes, and keeps them apart from the held state until all are there. After each line
 * its entry is valid: the first line of a new entry has everything but members of tables.
 */
export class LinesStage {
  readonly #kind: LinesKind;
  readonly #held: HeldState;
  /** The changes so far, as JSON; those of a whole state are its entries. */
  readonly #texts: string[] = [];
  readonly #entries = new Map<Collection, Map<string, StagedEntry>>();
  readonly #singles = new Map<Single, StagedEntry>();
  readonly #issues: SnapshotIssue[] = [];
  readonly #patcher = new ValuePatcher((path, message) =>
    this.#issues.push({ path, message, line: this.#line }),
  );
  #line = 0;

  /** @param held what changes apply to; for a whole state, what equal parts are taken from */
  constructor(kind: LinesKind, held: HeldState) {
    this.#kind = kind;
    this.#held = held;
  }

  /**
   * Applies a change, in steps. Errors are gathered, for `finish` to throw.
   * @throws {SnapshotError} once a thousand errors were found
   */
  *apply({ number, change, text, hasPrototypeKey }: ReadLine): Generator<void> {
    this.#line = number;
    if (this.#kind === "changes") this.#texts.push(text);
    const patch = change.at(-1) as EntryPatch;
    const path = change.slice(0, -1) as string[];
    const staged = this.#staged(change[0], path[1]);
    if (staged.failed) return;
    const before = this.#issues.length;
    if (hasPrototypeKey)
      this.#issues.push({
        path: formatPath([...path, ...(pathOfPrototypeKey(patch) ?? [])]),
        message: "is not a known field",
        line: number,
      });
    else if (path.length === 1) yield* this.#applySingle(change[0] as Single, staged, patch);
    else yield* this.#applyEntry(change[0] as Collection, path[1]!, staged, patch);
    staged.failed = this.#issues.length > before;
    if (this.#issues.length >= ENOUGH_ISSUES) throw new SnapshotError(this.#issues.slice(0, ENOUGH_ISSUES));
  }

  /**
   * What changes in `held`, in steps. For a whole state that may be another one than at first.
   * @throws {SnapshotError} naming the line and the field of each error
   */
  *finish(held: HeldState = this.#held): Generator<void, SnapshotDelta> {
    if (this.#issues.length > 0) throw new SnapshotError(this.#issues);
    const entries: EntryChange[] = [];
    const add = (collection: Collection, key: string, entry: unknown) =>
      entries.push({ collection, key, entry } as EntryChange);
    let count = 0;
    for (const collection of COLLECTIONS) {
      const staged = this.#entries.get(collection);
      let stay = 0;
      for (const [key, { value, before }] of staged ?? []) {
        if (++count % COMPARED_AT_ONCE === 0) yield;
        const known = this.#kind === "whole" ? held.entry(collection, key) : before;
        if (known !== undefined) stay++;
        const isSame = value === known || (this.#kind === "whole" && (yield* sameParts(value, known)));
        if (!isSame) add(collection, key, value);
      }
      // The keys of a large table in a list take as long as all that follows.
      if (this.#kind === "changes" || held.count?.(collection) === stay) continue;
      for (const key of held.keys(collection)) {
        if (++count % ENTRIES_AT_ONCE === 0) yield;
        if (!staged?.has(key)) add(collection, key, undefined);
      }
    }
    return { entries, singles: this.#changedSingles(held) };
  }

  /** The changes so far, for a store to keep; none for a whole state. As text: objects of 360,000 endpoints would be copied and marked by each collection. */
  *lines(): Generator<PatchLine> {
    for (const text of this.#texts) yield JSON.parse(text);
  }

  /** The values that the lines have so far, by `[collection, key]`, or by the name of a single value. */
  *values(): Generator<{ readonly path: readonly string[]; readonly value: EntryPatch }> {
    const named = function* (path: readonly string[], { value }: StagedEntry) {
      if (value !== undefined) yield { path, value: value as EntryPatch };
    };
    for (const [name, staged] of this.#singles) yield* named([name], staged);
    for (const [collection, entries] of this.#entries)
      for (const [key, staged] of entries) yield* named([collection, key], staged);
  }

  #staged(name: Collection | Single, key: string | undefined): StagedEntry {
    if (key === undefined) {
      const single = this.#singles.get(name as Single) ?? this.#start(name as Single);
      this.#singles.set(name as Single, single);
      return single;
    }
    const table = this.#entries.get(name as Collection) ?? new Map<string, StagedEntry>();
    this.#entries.set(name as Collection, table);
    const entry = table.get(key) ?? this.#start(name as Collection, key);
    table.set(key, entry);
    return entry;
  }

  #start(name: Collection | Single, key?: string): StagedEntry {
    const before = this.#kind === "whole" ? undefined : this.#known(name, key);
    return { value: before, before, failed: false };
  }

  #known(name: Collection | Single, key: string | undefined): unknown {
    return key === undefined ? this.#held.single(name as Single) : this.#held.entry(name as Collection, key);
  }

  *#applySingle(name: Single, staged: StagedEntry, patch: EntryPatch): Generator<void> {
    const known = staged.before ?? this.#known(name, undefined);
    staged.value =
      patch === null
        ? undefined
        : yield* this.#patcher.apply(SINGLE_PLANS[name], staged.value, known, patch, [name]);
  }

  *#applyEntry(collection: Collection, key: string, staged: StagedEntry, patch: EntryPatch): Generator<void> {
    const { key: keys, member } = COLLECTION_PLANS[collection];
    if (patch === null) {
      staged.value = undefined;
      return;
    }
    const known = staged.before ?? this.#known(collection, key);
    const path = [collection, key];
    const checked = keys.safeParse(key);
    if (!checked.success)
      this.#issues.push({
        path: formatPath(path),
        message: `is not a valid key: ${checked.error.issues[0]?.message}`,
        line: this.#line,
      });
    staged.value = yield* this.#patcher.apply(member, staged.value, known, patch, path);
  }

  #changedSingles(held: HeldState): SnapshotDelta["singles"] {
    const names = this.#kind === "whole" ? SINGLES : [...this.#singles.keys()];
    const changed = names
      .map((name) => [name, this.#singles.get(name)?.value] as const)
      .filter(([name, value]) => !equalJson(value, held.single(name)));
    return Object.fromEntries(changed);
  }
}

/** Whether two values have the same parts. Equal parts of tables were taken from the held state, so most are identical. */
function* sameParts(one: unknown, other: unknown): Generator<void, boolean> {
  if (one === other) return true;
  if (!isJsonObject(one) || !isJsonObject(other)) return equalJson(one, other);
  const names = memberNames(one);
  if (names.length !== memberNames(other).length) return false;
  for (const [index, name] of names.entries()) {
    if (index % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) yield;
    if (one[name] === other[name]) continue;
    if (!Object.hasOwn(other, name) || !(yield* sameParts(one[name], other[name]))) return false;
  }
  return true;
}
