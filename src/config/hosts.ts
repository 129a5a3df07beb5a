import * as z from "zod";
import { countOf } from "./values.ts";

/** What a setting may need of its host. */
export type Capability = "files" | "sockets" | "processes" | "isolates";

/** `clusterset-doh serve`. */
export const SERVER = ["files", "sockets", "processes"] as const satisfies Capability[];
/**
 * The Worker, and hosts that only have `fetch`: functions, Deno Deploy, and programs that embed a gateway.
 */
export const EDGE = ["isolates"] as const satisfies Capability[];

/** A key that exists on other hosts only. */
export type Elsewhere = z.ZodOptional<z.ZodNever>;

/** Marks the type of a schema, for `OnHost`; no value has this key. */
export interface Needing<Needed extends Capability, Otherwise> {
  readonly "~needs": readonly [Needed, Otherwise];
}

const needs = new WeakMap<z.ZodType, { readonly needed: Capability; readonly otherwise: z.ZodType }>();
const choices = new WeakMap<object, readonly string[]>();
/** `a, b and c`. */
const inWords = new Intl.ListFormat("en-GB");

/**
 * A setting of hosts that have a capability.
 * @param otherwise what it is on other hosts; default: the key does not exist there
 */
export function need<
  Needed extends Capability,
  Schema extends z.ZodType,
  Otherwise extends z.ZodType = Elsewhere,
>(needed: Needed, schema: Schema, otherwise?: Otherwise): Schema & Needing<Needed, Otherwise> {
  // A copy: the same schema may be a setting of every host elsewhere.
  const marked = schema.clone();
  const host = needed === "isolates" ? "in CONFIG of a Worker" : "for clusterset-doh serve";
  const error = `this key does not exist here, only ${host}: this host has no ${needed}`;
  needs.set(marked, { needed, otherwise: otherwise ?? z.never({ error }).optional() });
  return marked as Schema & Needing<Needed, Otherwise>;
}

/** The path of a file, relative to the config file. */
export const FileName = need("files", z.string().min(1).optional());

/** All of these keys need the capability. */
export function needAll<Needed extends Capability, Shape extends Record<string, z.ZodType>>(
  needed: Needed,
  shape: Shape,
): { [Key in keyof Shape]: Shape[Key] & Needing<Needed, Elsewhere> } {
  const marked = Object.entries(shape).map(([key, schema]) => [key, need(needed, schema)]);
  return Object.fromEntries(marked) as {
    [Key in keyof Shape]: Shape[Key] & Needing<Needed, Elsewhere>;
  };
}

/** The check that an object has exactly one of these keys. Its message names those that exist on the host. */
export function oneOf(keys: readonly string[]): z.core.$ZodCheck<object> {
  const names = `${keys.length > 1 ? "one of " : ""}${inWords.format(keys)}`;
  const check = z.refine<object>((value) => countOf(value, keys) === 1, `must have ${names}`);
  choices.set(check, keys);
  return check;
}

/** The schema of a setting on a host. */
type OnHost<Schema, Has extends Capability> = Schema extends {
  readonly "~needs": readonly [infer Needed, infer Otherwise];
}
  ? Needed extends Has
    ? Inner<Schema, Has>
    : Otherwise
  : Inner<Schema, Has>;

type Inner<Schema, Has extends Capability> =
  Schema extends z.ZodObject<infer Shape, infer Config>
    ? z.ZodObject<{ -readonly [Key in keyof Shape]: Type<OnHost<Shape[Key], Has>> }, Config>
    : Schema extends z.ZodArray<infer Element>
      ? z.ZodArray<Type<OnHost<Element, Has>>>
      : Schema extends z.ZodOptional<infer Value>
        ? z.ZodOptional<Type<OnHost<Value, Has>>>
        : Schema extends z.ZodDefault<infer Value>
          ? z.ZodDefault<Type<OnHost<Value, Has>>>
          : Schema extends z.ZodPrefault<infer Value>
            ? z.ZodPrefault<Type<OnHost<Value, Has>>>
            : Schema extends z.ZodPreprocess<infer Value, infer Given>
              ? z.ZodPreprocess<Type<OnHost<Value, Has>>, Given>
              : Schema;

type Type<Schema> = Schema extends z.ZodType ? Schema : never;

/** The schema that a host with these capabilities has. */
export function onHost<Schema extends z.ZodType, Has extends Capability>(
  schema: Schema,
  host: readonly Has[],
): Type<OnHost<Schema, Has>> {
  return derive(schema, host) as Type<OnHost<Schema, Has>>;
}

/** The parts of a schema's definition that have settings in them. */
interface Definition {
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly options?: readonly z.ZodType[];
  readonly checks?: readonly object[];
}

function derive(schema: z.ZodType, host: readonly Capability[]): z.ZodType {
  const mark = needs.get(schema);
  if (mark !== undefined && !host.includes(mark.needed)) return mark.otherwise;
  const def = schema.def as object as Definition & Readonly<Record<string, unknown>>;
  const inside = ["innerType", "element", "in", "out"].flatMap((key) =>
    def[key] === undefined ? [] : [[key, derive(def[key] as z.ZodType, host)] as const],
  );
  const parts: Record<string, unknown> = Object.fromEntries(inside);
  if (def.options !== undefined) parts.options = def.options.map((option) => derive(option, host));
  if (def.shape !== undefined) {
    const shape: Record<string, z.ZodType> = {};
    for (const [key, value] of Object.entries(def.shape)) shape[key] = derive(value, host);
    parts.shape = shape;
    parts.checks = def.checks?.map((check) => {
      const keys = choices.get(check);
      return keys === undefined ? check : oneOf(keys.filter((key) => !isElsewhere(shape[key]!)));
    });
  }
  if (Object.keys(parts).length === 0) return schema;
  const all = { ...Object.getOwnPropertyDescriptors(def), ...Object.getOwnPropertyDescriptors(parts) };
  return schema.clone(Object.defineProperties({}, all) as typeof schema.def);
}

/** Whether a key exists on other hosts only. */
export function isElsewhere(schema: z.ZodType): boolean {
  return schema instanceof z.ZodOptional && schema.unwrap() instanceof z.ZodNever;
}
