import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { Stage } from "../../../src/database/stage.ts";
import { BodyBudget, stageLines } from "../../../src/http/push/bodies.ts";
import { DEFAULT_LIMITS } from "../../config/default-limits.ts";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { memoryDatabase } from "../../gateway/open-keyed.ts";
import { openTurns } from "../../gateway/turns/open-turns.ts";
import {
  headerLine,
  LINES_TYPE,
  patchBody,
  patchPath,
  sealed,
  snapshotBody,
} from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { until } from "../../until.ts";
import { halfBody, openPushApi } from "./push-api.ts";

const EAST = { token: "east-token" };
const LIMITS = { pushBytes: 4000, pushBytesInFlight: 4000, pushSmallBytes: 2000 };
const LINE = '["namespaces","shop",{}]';
const east = snapshotBody(shopSnapshot("east.eu"));
/** The first `bytes` of a body. */
const startOf = (bytes: number) => `${headerLine("west")}\n${`${LINE}\n`.repeat(bytes / 20)}`.slice(0, bytes);
/** A body of more than 2,500 bytes. */
const largeEast = sealed(headerLine("east.eu"), ...Array.from({ length: 120 }, () => LINE));

/** Begins a push whose body stops. */
function begin(put: ReturnType<typeof openPushApi>["put"]) {
  const body = halfBody();
  return { body, waiting: put(undefined, { body: () => body.stream }) };
}

test("half-sent bodies that fill the common budget keep out no renewal and no small delta of another cluster", async () => {
  const { put, send, limitCounters } = await openPushApi({ limits: { ...LIMITS, pushBytesInFlight: 1500 } });
  const { generation } = await acknowledged(send("PUT", "east.eu/snapshot", { ...EAST, body: east }));
  const { body, waiting } = begin(put);
  await body.send(startOf(3500));
  await acknowledged(send("POST", "east.eu/lease", { ...EAST, body: JSON.stringify({ generation }) }));
  const delta = patchBody("east.eu", { namespaces: { more: {} } });
  await acknowledged(send("PATCH", patchPath("east.eu", generation), { ...EAST, body: delta }));
  const large = await refusal(send("PUT", "east.eu/snapshot", { ...EAST, body: largeEast }));
  expect(large).toMatchObject({ status: 503, code: "BUSY" });
  expect(large.headers.get("retry-after")).toBe("5");
  expect(limitCounters.get("limits.pushBytesInFlight")).toBe(1);
  body.end();
  expect(await refusal(waiting)).toMatchObject({ code: "END_MISSING" });
  await acknowledged(send("PUT", "east.eu/snapshot", { ...EAST, body: largeEast }));
});

test("the bodies of one cluster together are bounded, and give the bound back", async () => {
  const { put, limitCounters } = await openPushApi({ limits: { ...LIMITS, pushBytesInFlight: 1_000_000 } });
  const { body, waiting } = begin(put);
  await body.send(startOf(3500));
  const refused = await refusal(put());
  expect(refused).toMatchObject({ status: 429, code: "TOO_MANY_PUSHES" });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(limitCounters.get("limits.pushBytes")).toBe(1);
  body.end();
  await refusal(waiting);
  await acknowledged(put());
});

test.each([
  ["snapshot", "PUT", "west/snapshot"],
  ["delta", "PATCH", patchPath("west", 1)],
  ["renewal", "POST", "west/lease"],
])("a %s without a byte for pushIdleSeconds is given up with 408", async (_, method, path) => {
  const clock = new FakeClock();
  const { send, limitCounters } = await openPushApi({ clock, limits: { pushIdleSeconds: 5 } });
  const body = halfBody();
  const waiting = send(method, path, { body: () => body.stream });
  await body.send("{");
  await clock.advance(4000);
  await body.send(" ");
  await clock.advance(4000);
  expect(limitCounters.get("limits.pushIdleSeconds")).toBe(0);
  await clock.advance(1000);
  expect(await refusal(waiting)).toMatchObject({ status: 408, code: "BODY_TOO_SLOW" });
  expect(limitCounters.get("limits.pushIdleSeconds")).toBe(1);
  expect(clock.timers).toBe(0);
});

test("a body that comes byte by byte is given up after pushSeconds", async () => {
  const clock = new FakeClock();
  const { put, limitCounters } = await openPushApi({ clock, limits: { pushSeconds: 12 } });
  const { body, waiting } = begin(put);
  for (let second = 0; second < 12; second++) {
    await body.send(" ");
    await clock.advance(1000);
  }
  expect(await refusal(waiting)).toMatchObject({ status: 408, code: "BODY_TOO_SLOW" });
  expect(limitCounters.get("limits.pushSeconds")).toBe(1);
});

test("a process that was busy for minutes does not blame the sender", async () => {
  const clock = new FakeClock();
  const { put } = await openPushApi({ clock });
  const { body, waiting } = begin(put);
  await body.send(new TextDecoder().decode(snapshotBody(shopSnapshot("west"))));
  clock.stall(300_000);
  await clock.advance(0);
  body.end();
  const turns = setInterval(() => void clock.turn(), 0);
  await acknowledged(waiting);
  clearInterval(turns);
  expect(clock.timers, "only that of the lease").toBe(1);
});

test.each(["identity", "gzip"])("a body that has arrived waits for turns: %s", async (encoding) => {
  const clock = new FakeClock();
  const turns: (() => void)[] = [];
  const { put } = await openPushApi({
    clock: {
      now: () => clock.now(),
      setTimer: (milliseconds, run) => clock.setTimer(milliseconds, run),
      nextTurn: (run) => void turns.push(run),
    },
  });
  const lines = sealed(headerLine("west"), Array<string>(50_000).fill(LINE));
  const bytes = encoding === "gzip" ? gzipSync(lines, { level: 0 }) : Buffer.from(lines);
  const parts = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, part) =>
    bytes.subarray(part * 1000, part * 1000 + 1000),
  );
  const stream = ReadableStream.from(parts);
  const waiting = put(undefined, { body: () => stream, headers: { "content-encoding": encoding } });
  // No time limits a body that has arrived.
  await until(() => expect([turns.length > 0, clock.timers]).toEqual([true, 0]));
  await clock.advance(120_000);
  const run = setInterval(() => turns.shift()?.(), 0);
  await acknowledged(waiting);
  clearInterval(run);
  expect(clock.timers, "only that of the lease").toBe(1);
});

const members = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `"m${from + index}":{"address":"10.0.0.1"}`).join();
const group = (from: number, count: number) =>
  `["exports","a/b",{"endpoints":{"*":{"members":{${members(from, count)}}}}}]`;
const EXPORT =
  '{"exportedAt":"2024-01-01T00:00:00Z","serviceType":"ClusterIP","headless":true,"ports":[],"endpoints":{"*":{"ports":[],"members":{}}}}';

test.each<[string, () => string[]]>([
  [
    "900,000 members in one service",
    () => [
      `["exports","a/b",${EXPORT}]`,
      ...Array.from({ length: 900 }, (_, index) => group(index * 1000, 1000)),
    ],
  ],
  [
    "100,000 empty exports",
    () => Array.from({ length: 100_000 }, (_, index) => `["exports","a/n${index}",${EXPORT}]`),
  ],
  ["100,000 lines for one entry", () => Array.from({ length: 100_000 }, () => '["namespaces","shop",{}]')],
])("a hostile body of the largest legal size takes little of a turn: %s", async (_, lines) => {
  const { turns, next } = openTurns();
  const reader = new Reader(memoryDatabase(), () => {});
  let inTurn = 0;
  let most = 0;
  let total = 0;
  const limits = { ...DEFAULT_LIMITS, pushValues: 10_000_000, pushSentBytes: 2 ** 30 };
  const reading = {
    limits,
    turns,
    setTimer: () => () => {},
    account: new BodyBudget(limits).open("west"),
    work: (values: number) => {
      inTurn += values;
      total += values;
      most = Math.max(most, inTurn);
    },
  };
  const request = new Request("https://gateway.example/", {
    method: "PUT",
    headers: { "content-type": LINES_TYPE },
    body: sealed(headerLine("west"), ...lines()),
  });
  let isOver = false;
  const staged = stageLines(request, reading, () => new Stage(reader, "west", "whole")).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    inTurn = 0;
    await next();
  }
  await staged;
  expect(total).toBeGreaterThan(300_000);
  expect(most).toBeLessThanOrEqual(40_000);
});
