import * as z from "zod";
import { COLLECTIONS, type Collection, SINGLES } from "../parse.ts";
import { ClusterSnapshot } from "../schema.ts";
import type { Single } from "./patch-line.ts";

/** A value that is validated whole: it has no table in it, so it is small. */
export interface WholePlan {
  readonly kind: "whole";
  readonly schema: z.ZodType;
}

/** A table: each member is validated by itself. */
export interface TablePlan {
  readonly kind: "table";
  readonly schema: z.ZodType;
  readonly key: z.ZodType;
  readonly member: EntryPlan;
}

/** An object with a table somewhere in it: each field is validated by itself. */
export interface FieldsPlan {
  readonly kind: "fields";
  readonly schema: z.ZodType;
  readonly fields: ReadonlyMap<string, EntryPlan>;
  /** Fields that may not be absent. */
  readonly required: readonly string[];
}

/** How a value is validated in parts, so that a changed member costs nothing in proportion to the others. */
export type EntryPlan = WholePlan | TablePlan | FieldsPlan;

function planOf(given: z.ZodType): EntryPlan {
  const schema = given instanceof z.ZodOptional ? (given.unwrap() as z.ZodType) : given;
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

function unwrapDefault(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault ? (schema.unwrap() as z.ZodType) : schema;
}

/** Of each collection: the plans of its keys and its entries. */
export const COLLECTION_PLANS = Object.fromEntries(
  COLLECTIONS.map((name) => [name, planOf(unwrapDefault(ClusterSnapshot.shape[name]))]),
) as unknown as Readonly<Record<Collection, TablePlan>>;

/** Of each single value: its plan. */
export const SINGLE_PLANS = Object.fromEntries(
  SINGLES.map((name) => [name, planOf(ClusterSnapshot.shape[name])]),
) as unknown as Readonly<Record<Single, WholePlan>>;
