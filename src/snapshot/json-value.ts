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
  for (const name of Object.keys(one)) if (!equalJson(one[name], ownMember(other, name))) return false;
  for (const name of Object.keys(other))
    if (other[name] !== undefined && ownMember(one, name) === undefined) return false;
  return true;
}
