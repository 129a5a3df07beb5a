import { isJsonObject, type JsonObject } from "../json-value.ts";
import type { EntryPlan, FieldsPlan, TablePlan } from "./entry-plan.ts";

/** Members of tables in one piece, at most. */
const MEMBERS_A_LINE = 1000;
/** Characters of one piece, about: a piece ends once it has so many. */
const CHARACTERS_A_LINE = 64 * 1024;
/** Members and elements of one piece, about; 1,000 ports have 5,000. */
const VALUES_A_LINE = 7000;

/** Objects on the way to a member: `endpoints`, a source cluster, a group, `members`. */
const DEEPEST_PATH = 4;

type Draft = Record<string, unknown>;

/** Whether a patch goes into one piece as far as its members count. */
export function hasFewMembers(plan: EntryPlan, patch: unknown): boolean {
  return countMembers(plan, patch, 0) <= MEMBERS_A_LINE;
}

function countMembers(plan: EntryPlan, value: unknown, before: number): number {
  if (plan.kind === "whole" || !isJsonObject(value)) return before;
  const names = Object.keys(value);
  let count = before + (plan.kind === "table" ? names.length : 0);
  for (const name of names) {
    if (count > MEMBERS_A_LINE) return count;
    const member = plan.kind === "table" ? plan.member : plan.fields.get(name);
    if (member !== undefined) count = countMembers(member, value[name], count);
  }
  return count;
}

/**
 * Splits a merge patch of one entry into pieces that do the same one after the other. The first piece has every field that is not a table, and
 * empty tables, so that after each piece a new entry is valid. The same holds for each object in a table.
 */
export function* splitPatch(plan: EntryPlan, patch: JsonObject): Generator<JsonObject> {
  const pieces = new PieceWriter();
  yield* fill(plan, patch, pieces, []);
  if (!pieces.isEmpty) yield pieces.take();
}

function* fill(
  plan: EntryPlan,
  value: JsonObject,
  pieces: PieceWriter,
  path: readonly string[],
): Generator<JsonObject> {
  if (plan.kind === "table") yield* fillTable(plan, value, pieces, path);
  else if (plan.kind === "fields") yield* fillFields(plan, value, pieces, path);
}

function* fillTable(
  plan: TablePlan,
  table: JsonObject,
  pieces: PieceWriter,
  path: readonly string[],
): Generator<JsonObject> {
  for (const name of Object.keys(table)) {
    const member = table[name];
    const here = [...path, name];
    if (plan.member.kind === "whole" || !isJsonObject(member)) {
      if (pieces.isFullFor([member])) yield pieces.take();
      pieces.set(path, name, member);
    } else if (plan.member.kind === "table") {
      if (pieces.isFullFor([{}])) yield pieces.take();
      pieces.set(path, name, {});
      yield* fill(plan.member, member, pieces, here);
    } else yield* fill(plan.member, member, pieces, here);
  }
}

function* fillFields(
  plan: FieldsPlan,
  value: JsonObject,
  pieces: PieceWriter,
  path: readonly string[],
): Generator<JsonObject> {
  const isFilled = (name: string) => plan.fields.get(name)?.kind !== "whole" && isJsonObject(value[name]);
  const heads = Object.keys(value).map((name) => (isFilled(name) ? {} : value[name]));
  if (pieces.isFullFor(heads)) yield pieces.take();
  const tables: string[] = [];
  for (const name of Object.keys(value)) {
    const isTable = isFilled(name);
    if (isTable) tables.push(name);
    pieces.set(path, name, isTable ? {} : value[name]);
  }
  if (Object.keys(value).length === 0) pieces.at(path);
  for (const name of tables)
    yield* fill(plan.fields.get(name)!, value[name] as JsonObject, pieces, [...path, name]);
}

/** Writes values by their paths into the piece that is open. */
class PieceWriter {
  #root: Draft = {};
  #members = 0;
  #characters = 0;
  #values = 0;

  get isEmpty(): boolean {
    return this.#members === 0;
  }

  /** Whether the next piece should take these values. */
  isFullFor(values: readonly unknown[]): boolean {
    const more = values.reduce((sum: number, value) => sum + countValues(value), 0);
    return (
      this.#members > 0 &&
      (this.#members + DEEPEST_PATH + values.length > MEMBERS_A_LINE ||
        this.#characters >= CHARACTERS_A_LINE ||
        this.#values + more > VALUES_A_LINE)
    );
  }

  /** The object at a path of the open piece. */
  at(path: readonly string[]): Draft {
    let object = this.#root;
    for (const name of path) {
      if (!Object.hasOwn(object, name)) {
        object[name] = {};
        this.#members++;
      }
      object = object[name] as Draft;
    }
    return object;
  }

  set(path: readonly string[], name: string, value: unknown): void {
    const object = this.at(path);
    this.#members++;
    this.#measure(value, name.length);
    object[name] = value;
  }

  take(): JsonObject {
    const piece = this.#root;
    this.#root = {};
    this.#members = this.#characters = this.#values = 0;
    return piece;
  }

  #measure(value: unknown, characters: number): void {
    this.#values++;
    this.#characters += characters + 4;
    if (typeof value === "string") this.#characters += value.length;
    else if (typeof value === "object" && value !== null)
      for (const [name, member] of Object.entries(value)) this.#measure(member, name.length);
  }
}

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}
