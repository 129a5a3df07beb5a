import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { acknowledged, refusal } from "../../conformance/push-client.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { headerLine, patchBody, patchPath, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { until } from "../../until.ts";
import { halfBody } from "./half-body.ts";
import { openPushApi } from "./push-api.ts";

const EAST = { token: "east-token" };
const LIMITS = { pushBytes: 4000, pushBytesInFlight: 4000, pushSmallBytes: 2000 };
const LINE = '["namespaces","shop",{}]';
const east = snapshotBody(shopSnapshot("east.eu"));
/** The first `bytes` of a body. */
const startOf = (bytes: number) => `${headerLine("west")}\n${`${LINE}\n`.repeat(bytes / 20)}`.slice(0, bytes);
/** A body of more than 2,500 bytes. */
const largeEast = sealed(headerLine("east.eu"), ...Array.from({ length: 120 }, () => LINE));

test("half-sent bodies that fill the common budget keep out no renewal and no small delta of another cluster", async () => {
  const { put, send, limitCounters } = await openPushApi({ limits: { ...LIMITS, pushBytesInFlight: 1500 } });
  const { generation } = await acknowledged(send("PUT", "east.eu/snapshot", { ...EAST, body: east }));
  const body = halfBody();
  const waiting = put(undefined, { body: () => body.stream });
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
  const body = halfBody();
  const waiting = put(undefined, { body: () => body.stream });
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
  const body = halfBody();
  const waiting = put(undefined, { body: () => body.stream });
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
  const body = halfBody();
  const waiting = put(undefined, { body: () => body.stream });
  await body.send(new TextDecoder().decode(snapshotBody(shopSnapshot("west"))));
  clock.stall(300_000);
  await clock.advance(0);
  body.end();
  const turns = setInterval(() => void clock.turn(), 0);
  await acknowledged(waiting);
  clearInterval(turns);
  expect(clock.timers).toBe(0);
});

test.each(["identity", "gzip"])(
  "a body that has arrived is not given up while other work has the turns: %s",
  async (encoding) => {
    const clock = new FakeClock();
    const turns: (() => void)[] = [];
    const { put } = await openPushApi({
      clock: {
        now: () => clock.now(),
        setTimer: (milliseconds, run) => clock.setTimer(milliseconds, run),
        nextTurn: (run) => void turns.push(run),
      },
    });
    const lines = sealed(
      headerLine("west"),
      Array.from({ length: 50_000 }, () => LINE),
    );
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
    expect(clock.timers).toBe(0);
  },
);
