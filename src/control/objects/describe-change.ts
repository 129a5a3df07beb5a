import { type ManagedObject, nameOf } from "./wanted-object.ts";

/**
 * A change as a diff of fields: `+ Kind namespace/name` for a new object, `-` for one that goes, `~` for another, followed by its changed
 * fields. Fields that `after` does not have are not touched by server-side apply, so they are not shown.
 */
export function* describeChange(
  before: ManagedObject | undefined,
  after: ManagedObject | undefined,
): Generator<string> {
  const object = (after ?? before)!;
  const title = `${object.kind} ${nameOf(object)}`;
  if (after === undefined) return yield `- ${title}`;
  yield `${before === undefined ? "+" : "~"} ${title}`;
  for (const [path, value] of leaves(after)) {
    const old = before === undefined ? undefined : at(before, path);
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    if (old !== undefined) yield `    - ${path.join(".")}: ${JSON.stringify(old)}`;
    yield `    + ${path.join(".")}: ${JSON.stringify(value)}`;
  }
}

const IN_TITLE = new Set(["apiVersion", "kind", "name", "namespace"]);

function* leaves(value: unknown, path: readonly string[] = []): Generator<[readonly string[], unknown]> {
  const isInner = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isInner) return yield [path, value];
  for (const [key, inner] of Object.entries(value))
    if (path.length > 1 || !IN_TITLE.has(key)) yield* leaves(inner, [...path, key]);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}
