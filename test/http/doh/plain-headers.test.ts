import { expect, test } from "vitest";
import { PlainHeaders } from "../../../src/http/doh/dns-route.ts";

const LENGTHS = [12, 13, 29, 30, 31, 4096, 65_535];
const FRESHNESSES = [0, 1, 2, 4, 5, 30, 31, 4096, 65_535, 86_400];

test("answers that differ in length or freshness never share header fields", () => {
  const headers = new PlainHeaders("x-view", false, true);
  for (let round = 0; round < 2; round++)
    for (const length of LENGTHS)
      for (const freshness of FRESHNESSES)
        expect(headers.of(length, freshness)).toMatchObject({
          "content-length": String(length),
          "cache-control": freshness === 0 ? "no-store" : `max-age=${freshness}`,
          vary: "x-view",
        });
});

test("equal answers share one immutable object of fields", () => {
  const headers = new PlainHeaders(undefined, true, false);
  const fields = headers.of(100, 5);
  expect(headers.of(100, 5)).toBe(fields);
  expect(fields["cache-control"]).toBe("private, max-age=5");
  expect(fields).not.toHaveProperty("vary");
  expect(fields).not.toHaveProperty("access-control-allow-origin");
  expect(Object.isFrozen(fields)).toBe(true);
});

test("the cache is bounded, and correct when it is full", () => {
  const headers = new PlainHeaders(undefined, false, true);
  const first = headers.of(12, 1);
  for (let length = 100; length < 5100; length++) headers.of(length, 5);
  expect(headers.of(12, 1)).not.toBe(first);
  expect(headers.of(12, 1)).toEqual(first);
});
