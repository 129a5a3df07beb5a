/** A JSON object, as JSON.parse makes them. */
export type JsonObject = { readonly [member: string]: unknown };

/** Whether a JSON value is an object (no array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own member of an object; undefined for absent ones and for what every object inherits. */
export function ownMember(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Whether two JSON values say the same; members that are undefined count as absent. */
export function equalJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((element, index) => equalJson(element, other[index]))
    );
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  let unmatched = 0;
  for (const name of Object.keys(one)) {
    const mine = one[name];
    if (mine === undefined) continue;
    // Whatever is inherited is a function or an object, so only those need a look at whose it is.
    const theirs = typeof mine === "object" ? ownMember(other, name) : other[name];
    if (mine !== theirs && !equalJson(mine, theirs)) return false;
    unmatched++;
  }
  for (const name of Object.keys(other)) if (other[name] !== undefined) unmatched--;
  return unmatched === 0;
}

/** Validated copies of tables lack a member of this name without a word, whatever is in it. */
export const PROTOTYPE_KEY = "__proto__";

/** Where a JSON value has a member `__proto__`, at any depth; undefined where it has none. */
export function pathOfPrototypeKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, PROTOTYPE_KEY)) return [PROTOTYPE_KEY];
  for (const [name, member] of Object.entries(value)) {
    const path = pathOfPrototypeKey(member);
    if (path !== undefined) return [name, ...path];
  }
  return undefined;
}
