/** A JSON object, as JSON.parse returns it. */
export type JsonObject = { readonly [member: string]: unknown };

/** Whether a JSON value is an object (no array, not null). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own member of an object; undefined for absent and inherited ones. */
export function ownMember(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Whether two JSON values are equal; members that are undefined count as absent. */
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
    // Inherited members are functions or objects, so only those need the check for an own member.
    const theirs = typeof mine === "object" ? ownMember(other, name) : other[name];
    if (mine !== theirs && !equalJson(mine, theirs)) return false;
    unmatched++;
  }
  for (const name of Object.keys(other)) if (other[name] !== undefined) unmatched--;
  return unmatched === 0;
}

/** zod drops a member of this name from a record without an issue, so it is looked for before. */
export const PROTOTYPE_KEY = "__proto__";

/** The path of a member `__proto__` in a JSON value, at any depth; undefined if it has none. */
export function pathOfPrototypeKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, PROTOTYPE_KEY)) return [PROTOTYPE_KEY];
  for (const [name, member] of Object.entries(value)) {
    const path = pathOfPrototypeKey(member);
    if (path !== undefined) return [name, ...path];
  }
  return undefined;
}
