import { expect, test } from "vitest";
import { ConnectionErrors, ERROR_SOURCES, LIMITS, LimitCounters } from "../../src/limits/counters.ts";

test("every limit is counted from 0, one by one", () => {
  const counters = new LimitCounters();
  expect([...counters.counts()]).toEqual(LIMITS.map((limit) => [limit, 0]));
  counters.hit("http2");
  counters.hit("http2");
  counters.hit("limits.pushBytes");
  expect([...counters.counts()].filter(([, count]) => count > 0)).toEqual([
    ["limits.pushBytes", 1],
    ["http2", 2],
  ]);
});

test("every source of errors is counted from 0, and each error is handed on", () => {
  const seen: [string, string][] = [];
  const errors = new ConnectionErrors((source, { message }) => seen.push([source, message]));
  expect([...errors.counts()]).toEqual(ERROR_SOURCES.map((source) => [source, 0]));
  errors.listeners.tls(new Error("one"));
  errors.listeners.tls(new Error("two"));
  errors.listeners.dot(new Error("three"));
  expect([...errors.counts()].filter(([, count]) => count > 0)).toEqual([
    ["tls", 2],
    ["dot", 1],
  ]);
  expect(seen).toEqual([
    ["tls", "one"],
    ["tls", "two"],
    ["dot", "three"],
  ]);
});

test("errors without a log entry are counted nevertheless", () => {
  const errors = new ConnectionErrors();
  errors.listeners.server(new Error("one"));
  expect(errors.counts().get("server")).toBe(1);
});
