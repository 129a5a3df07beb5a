import { expect, test } from "vitest";
import { keptFields } from "../../../src/http/doh/dns-route.ts";

const LENGTHS = [12, 13, 29, 30, 31, 4096, 65_535];
const FRESHNESSES = [0, 1, 2, 4, 5, 30, 31, 4096, 65_535, 86_400];

/** Fields of answers of one kind, by length and freshness. */
function fieldsOf({ isPrivate = false, variesByCredential = false, anyOrigin = true }) {
  const fields = keptFields();
  return (length: number, freshness: number) => {
    const answer = { bytes: new Uint8Array(length), outcome: "answer", freshness } as const;
    return fields({ answer, isPrivate, variesByCredential }, anyOrigin);
  };
}

test("answers that differ in length or freshness never share header fields", () => {
  const headers = fieldsOf({ variesByCredential: true });
  for (let round = 0; round < 2; round++)
    for (const length of LENGTHS)
      for (const freshness of FRESHNESSES)
        expect(headers(length, freshness)).toMatchObject({
          "content-length": String(length),
          "cache-control": freshness === 0 ? "no-store" : `max-age=${freshness}`,
          vary: "authorization",
        });
});

test("equal answers share one immutable object of fields", () => {
  const headers = fieldsOf({ isPrivate: true, anyOrigin: false });
  const fields = headers(100, 5);
  expect(headers(100, 5)).toBe(fields);
  expect(fields["cache-control"]).toBe("private, max-age=5");
  expect(fields).not.toHaveProperty("vary");
  expect(fields).not.toHaveProperty("access-control-allow-origin");
  expect(Object.isFrozen(fields)).toBe(true);
});

test("the cache is bounded, and correct when it is full", () => {
  const headers = fieldsOf({});
  const first = headers(12, 1);
  for (let length = 100; length < 5100; length++) headers(length, 5);
  expect(headers(12, 1)).not.toBe(first);
  expect(headers(12, 1)).toEqual(first);
});
