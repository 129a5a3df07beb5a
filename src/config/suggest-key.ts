import type * as z from "zod";
import { editDistance, mostChanges } from "../dns/edit-distance.ts";
import { isElsewhere } from "./hosts.ts";

/** Known keys are listed in a message if there are at most so many. */
const MOST_LISTED = 10;

/**
 * The next step for a key that does not exist: the key that was probably meant, or all keys there.
 * @param path of the key
 */
export function suggestKey(schema: z.ZodType, path: readonly PropertyKey[]): string {
  const wanted = String(path.at(-1));
  const keys = keysAt(schema, path.slice(0, -1));
  const near = keys
    .map((key) => ({ key, distance: distanceOf(wanted, key) }))
    .filter(({ distance }) => distance <= mostChanges(wanted))
    .sort((one, other) => one.distance - other.distance);
  if (near.length > 0) return `did you mean ${near[0]!.key}?`;
  if (keys.length > 0 && keys.length <= MOST_LISTED) return `the keys here are ${keys.join(", ")}`;
  return "docs/reference/configuration.md has all keys";
}

/** The longer of two keys may say more (`ttl`, `ttlSeconds`). */
function distanceOf(wanted: string, key: string): number {
  const [one, other] = [wanted.toLowerCase(), key.toLowerCase()];
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const most = mostChanges(wanted);
  return short.length >= 3 && long.startsWith(short) ? most : editDistance(one, other, most);
}

/** The keys that a schema has at a path; of all alternatives of a union. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let schemas = objectsAndArrays(schema);
  for (const part of path)
    schemas = schemas.flatMap(({ def }) => {
      const inner = def.type === "array" ? def.element : def.shape?.[String(part)];
      return inner === undefined ? [] : objectsAndArrays(inner);
    });
  return [...new Set(schemas.flatMap(({ def }) => keysHere(def.shape ?? {})))];
}

function keysHere(shape: Readonly<Record<string, z.ZodType>>): string[] {
  return Object.keys(shape).filter((key) => !isElsewhere(shape[key]!));
}

/** The part of a schema's definition that is read. */
interface Definition {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly element?: z.ZodType;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly options?: readonly z.ZodType[];
}

/** The objects and arrays below defaults, unions and transformations. */
function objectsAndArrays(schema: z.ZodType): { readonly def: Definition }[] {
  const def = schema.def as unknown as Definition;
  if (def.type === "object" || def.type === "array") return [{ def }];
  return [def.innerType, def.in, ...(def.options ?? [])].flatMap((inner) =>
    inner === undefined ? [] : objectsAndArrays(inner),
  );
}
