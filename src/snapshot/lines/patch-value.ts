import type * as z from "zod";
import { memberNames, NameList, setNameList } from "../held/member-names.ts";
import { equalJson, isJsonObject, type JsonObject, ownMember } from "../json-value.ts";
import { MergePatchError, mergePatch } from "../merge-patch.ts";
import { collectIssues, formatPath, type PathStep } from "../snapshot-error.ts";
import type { EntryPlan, FieldsPlan, TablePlan } from "./entry-plan.ts";

/** Members of one step. */
const MEMBERS_AT_ONCE = 128;
/** Members of a table from which on their names are listed while it is built. */
const MANY_MEMBERS = 1024;

type Table = Record<string, unknown>;

/**
 * Applies merge patches (RFC 7396) to values and validates what they change, in steps. Objects of the held state are copied when they first
 * change; copies are its own, and are changed in place, so that an entry of many lines is not copied for each of them.
 */
export class ValuePatcher {
  readonly #report: (path: string, message: string) => void;
  /** No WeakSet: one with 12,000 objects takes the thread for 50 ms when it grows. */
  /** With the members that were added to each. */
  readonly #own = new Map<object, number>();
  /** Of large own tables. A list for each small one would make the WeakMap of the lists grow. */
  readonly #names = new Map<object, NameList>();
  #members = 0;

  /** @param report called with each error */
  constructor(report: (path: string, message: string) => void) {
    this.#report = report;
  }

  /**
   * The value after the patch: `before` itself if nothing changed. After an error it is of no use.
   * @param known an equal part of it may be taken from this, which is valid
   */
  *apply(
    plan: EntryPlan,
    before: unknown,
    known: unknown,
    patch: unknown,
    path: readonly PathStep[],
  ): Generator<void, unknown> {
    if (plan.kind === "whole" || !isJsonObject(patch))
      return this.#applyWhole(plan, before, known, patch, path);
    const held = isJsonObject(before) ? before : undefined;
    let after = held !== undefined && this.#own.has(held) ? (held as Table) : undefined;
    const isTable = plan.kind === "table";
    let names = after && isTable ? this.#namesOf(after) : undefined;
    let added = 0;
    if (held === undefined) after = this.#owned({});
    for (const name of Object.keys(patch)) {
      if (++this.#members % MEMBERS_AT_ONCE === 0) yield;
      const here = [...path, name];
      const member = this.#memberPlan(plan, name, here);
      if (member === undefined) continue;
      const old = held === undefined ? undefined : ownMember(held, name);
      const change = patch[name];
      if (change === null && plan.kind === "fields" && plan.required.includes(name)) {
        this.#check(member.schema, undefined, here);
        continue;
      }
      const now =
        change === null
          ? undefined
          : member.kind === "whole"
            ? this.#applyWhole(member, old, ownKnown(known, name), change, here)
            : yield* this.apply(member, old, ownKnown(known, name), change, here);
      if (now === old) continue;
      if (after === undefined) {
        const known = memberNames(held!);
        after = this.#owned(yield* this.#copy(held!, known), known.length);
        if (isTable) names = this.#namesOf(after, known);
      }
      if (now === undefined) {
        delete after[name];
        names?.remove(name);
      } else {
        after[name] = now;
        if (old === undefined) {
          names?.add(name);
          added++;
        }
      }
    }
    if (added > 0) this.#own.set(after!, this.#own.get(after!)! + added);
    if (held === undefined && plan.kind === "fields") this.#checkRequired(plan, after!, patch, path);
    return after ?? before;
  }

  /** The plan of a member; undefined, with an error, if there is none of this name. */
  #memberPlan(plan: TablePlan | FieldsPlan, name: string, path: PathStep[]): EntryPlan | undefined {
    if (plan.kind === "table") {
      const checked = plan.key.safeParse(name);
      if (checked.success) return plan.member;
      this.#report(formatPath(path), `is not a valid key: ${checked.error.issues[0]?.message}`);
      return undefined;
    }
    const field = plan.fields.get(name);
    if (field === undefined) this.#report(formatPath(path), "is not a known field");
    return field;
  }

  #applyWhole(
    { schema }: EntryPlan,
    before: unknown,
    known: unknown,
    patch: unknown,
    path: readonly PathStep[],
  ): unknown {
    let merged: unknown;
    try {
      merged = mergePatch(before, patch);
    } catch (error) {
      if (!(error instanceof MergePatchError)) throw error;
      this.#report(formatPath([...path, ...error.path]), error.message);
      return undefined;
    }
    if (merged === before) return before;
    if (known !== undefined && known !== before && equalJson(merged, known)) return known;
    return this.#check(schema, merged, path);
  }

  #check(schema: z.ZodType, value: unknown, path: readonly PathStep[]): unknown {
    const checked = schema.safeParse(value);
    if (checked.success) return checked.data;
    for (const issue of collectIssues(checked.error, path)) this.#report(issue.path, issue.message);
    return undefined;
  }

  #checkRequired(plan: FieldsPlan, value: Table, patch: JsonObject, path: readonly PathStep[]): void {
    for (const name of plan.required) {
      // One that was given and is wrong is an error already.
      if (Object.hasOwn(value, name) || Object.hasOwn(patch, name)) continue;
      this.#check(plan.fields.get(name)!.schema, undefined, [...path, name]);
    }
  }

  #owned(table: Table, members = 0): Table {
    this.#own.set(table, members);
    return table;
  }

  /** The list of the names of an own table that is large. @param known they, where that is known */
  #namesOf(table: Table, known?: readonly string[]): NameList | undefined {
    if (this.#own.get(table)! <= MANY_MEMBERS) return undefined;
    let list = this.#names.get(table);
    if (list === undefined) {
      list = new NameList(known ?? Object.keys(table));
      this.#names.set(table, list);
      setNameList(table, list);
    }
    return list;
  }

  *#copy(from: JsonObject, names: readonly string[]): Generator<void, Table> {
    const copy: Table = {};
    for (const name of names) {
      copy[name] = from[name];
      if (++this.#members % MEMBERS_AT_ONCE === 0) yield;
    }
    return copy;
  }
}

function ownKnown(known: unknown, name: string): unknown {
  return isJsonObject(known) ? ownMember(known, name) : undefined;
}
