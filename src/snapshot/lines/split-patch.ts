import * as z from "zod";
import { isJsonObject, type JsonObject, mergePatch, ownMember } from "../json-value.ts";
import { COLLECTIONS, type Collection, collectIssues, formatPath, type PathStep, SINGLES } from "../parse.ts";
import { ClusterSnapshot } from "../schema.ts";
import type { Single } from "./patch-line.ts";

/** Members of tables in one piece, at most. */
const MEMBERS_A_LINE = 1000;
/** Characters of one piece, about: a piece ends once it has so many. */
const CHARACTERS_A_LINE = 64 * 1024;
/** Members and elements of one piece, about; 1,000 ports have 5,000. */
const VALUES_A_LINE = 7000;

/** Objects on the way to a member: `endpoints`, a source cluster, a group, `members`. */
const DEEPEST_PATH = 4;

type Draft = Record<string, unknown>;

/**
 * Splits a merge patch of one entry into pieces that do the same one after the other. The first piece has
 * every field that is not a table, and empty tables, so that after each piece a new entry is valid. The same
 * holds for each object in a table.
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
  if (plan.kind === "whole") return;
  const members = Object.entries(value).map(([name, member]) => {
    const own = plan.kind === "table" ? plan.member : plan.fields.get(name);
    const isFilled = own !== undefined && own.kind !== "whole" && isJsonObject(member);
    return {
      name,
      head: isFilled ? {} : member,
      filled: isFilled ? { plan: own, value: member } : undefined,
    };
  });
  if (members.length === 0) pieces.at(path);
  for (const together of plan.kind === "fields" ? [members] : members.map((member) => [member])) {
    // An object with fields of its own begins with them.
    const heads = together.filter(({ filled }) => filled?.plan.kind !== "fields");
    if (heads.length > 0 && pieces.isFullFor(heads.map(({ head }) => head))) yield pieces.take();
    for (const { name, head } of heads) pieces.set(path, name, head);
    for (const { name, filled } of together)
      if (filled !== undefined) yield* fill(filled.plan, filled.value, pieces, [...path, name]);
  }
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
    this.at(path)[name] = value;
    this.#members++;
    this.#values += countValues(value);
    this.#characters += JSON.stringify([name, value]).length;
  }

  take(): JsonObject {
    const piece = this.#root;
    this.#root = {};
    this.#members = this.#characters = this.#values = 0;
    return piece;
  }
}

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}

/** A value that is validated whole: it has no table in it, so it is small. */
interface WholePlan {
  readonly kind: "whole";
  readonly schema: z.ZodType;
}

/** A table: each member is validated by itself. */
interface TablePlan {
  readonly kind: "table";
  readonly schema: z.ZodType;
  readonly key: z.ZodType;
  readonly member: EntryPlan;
}

/** An object with a table somewhere in it: each field is validated by itself. */
interface FieldsPlan {
  readonly kind: "fields";
  readonly schema: z.ZodType;
  readonly fields: ReadonlyMap<string, EntryPlan>;
  /** Fields that may not be absent. */
  readonly required: readonly string[];
}

/** How a value is validated in parts, so that a changed member costs nothing in proportion to the others. */
export type EntryPlan = WholePlan | TablePlan | FieldsPlan;

function planOf(given: z.ZodType): EntryPlan {
  const isWrapped = given instanceof z.ZodOptional || given instanceof z.ZodDefault;
  const schema = isWrapped ? (given.unwrap() as z.ZodType) : given;
  if (schema instanceof z.ZodRecord)
    return {
      kind: "table",
      schema,
      key: schema.keyType as z.ZodType,
      member: planOf(schema.valueType as z.ZodType),
    };
  if (schema instanceof z.ZodObject) {
    const shape = Object.entries(schema.shape as Record<string, z.ZodType>);
    const fields = new Map(shape.map(([name, field]) => [name, planOf(field)]));
    const required = shape.filter(([, field]) => !(field instanceof z.ZodOptional)).map(([name]) => name);
    if ([...fields.values()].some(({ kind }) => kind !== "whole"))
      return { kind: "fields", schema, fields, required };
  }
  return { kind: "whole", schema };
}

/** Of each collection: the plans of its keys and its entries. */
export const COLLECTION_PLANS = Object.fromEntries(
  COLLECTIONS.map((name) => [name, planOf(ClusterSnapshot.shape[name])]),
) as unknown as Readonly<Record<Collection, TablePlan>>;

/** Of each single value: its plan. */
export const SINGLE_PLANS = Object.fromEntries(
  SINGLES.map((name) => [name, planOf(ClusterSnapshot.shape[name])]),
) as unknown as Readonly<Record<Single, WholePlan>>;

/** Called with each error. */
type Report = (path: string, message: string) => void;

/**
 * Applies a merge patch (RFC 7396) to a valid value, and validates what it changes.
 * @returns `before` itself if nothing changed; after an error it is of no use
 */
export function patchValue(
  plan: EntryPlan,
  before: unknown,
  patch: unknown,
  path: readonly PathStep[],
  report: Report,
): unknown {
  if (plan.kind === "whole" || !isJsonObject(patch)) {
    const merged = mergePatch(before, patch);
    return merged === before ? before : check(plan.schema, merged, path, report);
  }
  const held = isJsonObject(before) ? before : undefined;
  let after: Record<string, unknown> | undefined = held === undefined ? {} : undefined;
  for (const name of Object.keys(patch)) {
    const here = [...path, name];
    const member = memberPlan(plan, name, here, report);
    if (member === undefined) continue;
    const change = patch[name];
    if (change === null && plan.kind === "fields" && plan.required.includes(name)) {
      check(member.schema, undefined, here, report);
      continue;
    }
    const old = held === undefined ? undefined : ownMember(held, name);
    const now = change === null ? undefined : patchValue(member, old, change, here, report);
    if (now === old) continue;
    after ??= { ...held };
    if (now === undefined) delete after[name];
    else after[name] = now;
  }
  if (held === undefined && plan.kind === "fields")
    // A field that was given and is wrong is an error already.
    for (const name of plan.required)
      if (!Object.hasOwn(after!, name) && !Object.hasOwn(patch, name))
        check(plan.fields.get(name)!.schema, undefined, [...path, name], report);
  return after ?? before;
}

/** The plan of a member; undefined, with an error, if there is none of this name. */
function memberPlan(
  plan: TablePlan | FieldsPlan,
  name: string,
  path: readonly PathStep[],
  report: Report,
): EntryPlan | undefined {
  if (plan.kind === "table") {
    const checked = plan.key.safeParse(name);
    if (checked.success) return plan.member;
    report(formatPath(path), `is not a valid key: ${checked.error.issues[0]?.message}`);
    return undefined;
  }
  const field = plan.fields.get(name);
  if (field === undefined) report(formatPath(path), "is not a known field");
  return field;
}

function check(schema: z.ZodType, value: unknown, path: readonly PathStep[], report: Report): unknown {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  for (const issue of collectIssues(checked.error, path)) report(issue.path, issue.message);
  return undefined;
}
