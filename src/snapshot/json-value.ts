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

/**
 * Applies an RFC 7396 merge patch to a JSON value. Neither argument is changed; parts that the patch does
 * not change keep their identity, up to `target` itself.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return equalJson(target, patch) ? target : patch;
  const base: JsonObject = isJsonObject(target) ? target : {};
  let merged: Record<string, unknown> | undefined = base === target ? undefined : {};
  for (const name of Object.keys(patch)) {
    const change = patch[name];
    const before = ownMember(base, name);
    const after = change === null ? undefined : mergePatch(before, change);
    if (after === before) continue;
    merged ??= { ...base };
    if (after === undefined) delete merged[name];
    else merged[name] = after;
  }
  return merged ?? target;
}

/**
 * The smallest RFC 7396 merge patch that turns one JSON object into another; undefined if they are
 * equal. `to` must not contain null, which a merge patch cannot write.
 */
export function diffJson(from: JsonObject, to: JsonObject): JsonObject | undefined {
  if (from === to) return undefined;
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(from))
    if (from[name] !== undefined && ownMember(to, name) === undefined) patch[name] = null;
  for (const name of Object.keys(to)) {
    const before = ownMember(from, name);
    const after = to[name];
    if (after === undefined || before === after) continue;
    if (isJsonObject(before) && isJsonObject(after)) {
      const change = diffJson(before, after);
      if (change !== undefined) patch[name] = change;
    } else if (!equalJson(before, after)) patch[name] = after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
