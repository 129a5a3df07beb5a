import fc from "fast-check";
import { expect, test } from "vitest";
import { equalJson, isJsonObject } from "../../src/snapshot/json-value.ts";

/** JSON with sorted members: the same text for equal values. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isJsonObject(member) ? { members: Object.entries(member).sort(byName) } : member,
  );
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

const KEYS = ["a", "b", "__proto__", "constructor", "toString"];
const { value } = fc.letrec<{ value: unknown; list: unknown[]; object: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, fc.constantFrom(null, true, 0, 1, "", "a"), tie("list"), tie("object")),
  list: fc.array(tie("value"), { maxLength: 2 }),
  object: fc
    .array(fc.tuple(fc.constantFrom(...KEYS), tie("value")), { maxLength: 3 })
    .map((members) =>
      JSON.parse(`{${members.map(([key, member]) => `"${key}":${JSON.stringify(member)}`).join()}}`),
    ),
}));

test("equalJson ignores the order of members, for any names of members", () => {
  fc.assert(
    fc.property(value, value, (one, other) => {
      expect(equalJson(one, other)).toBe(canonical(one) === canonical(other));
      expect(equalJson(one, structuredClone(one))).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test("equalJson treats undefined members as absent", () => {
  expect(equalJson({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(equalJson({ a: 1 }, { a: 1, b: undefined })).toBe(true);
  expect(equalJson({ a: undefined }, { b: undefined })).toBe(true);
  expect(equalJson({ a: undefined }, { a: 1 })).toBe(false);
});

test.each([
  ["constructor", {}],
  ["__proto__", {}],
  ["toString", {}],
])("equalJson does not confuse an inherited value with the member %s", (name, inherited) => {
  const own = JSON.parse(`{"${name}":${JSON.stringify(inherited)}}`);
  expect([equalJson(own, {}), equalJson({}, own)]).toEqual([false, false]);
});
