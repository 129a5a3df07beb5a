import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  EVENT_LIMITS,
  EventRecorder,
  MOST_WAITING,
  SPAM_LIMITS,
} from "../../../../src/worker/control/events.ts";
import type { ManagedObject } from "../../../../src/worker/control/objects.ts";
import { KeptLogs } from "../../logs.ts";

// The timers of node:timers/promises are not faked.
vi.mock("node:timers/promises", () => ({
  setTimeout: (milliseconds: number, _: undefined, { signal }: { signal: AbortSignal }) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(new Error("aborted"));
      setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    }),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Lets everything happen that waits for no timer. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

const lasting = new AbortController().signal;
const exported = (name: string): ManagedObject => ({
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceExport",
  metadata: { namespace: "shop", name, uid: `uid-${name}` },
});
/** Lets timers run for so many milliseconds. */
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** A recorder, and the Events that were written. */
function open(create: () => Promise<void> = async () => {}) {
  const written: (ManagedObject & { readonly note?: string })[] = [];
  const writer = {
    create: async (event: ManagedObject) => {
      await create();
      written.push(event);
      return event;
    },
  };
  const recorder = new EventRecorder(writer, "worker-1", new KeptLogs());
  const record = (name: string, message = "", type: "Normal" | "Warning" = "Normal", signal = lasting) =>
    recorder.record(exported(name), type, "PortConflict", message, signal);
  return { written, record, dropped: recorder.dropped };
}

test("a note has at most the 1,024 bytes that the API takes, in any script", async () => {
  for (const message of ["x", "端", "🀄"].map((character) => character.repeat(2000))) {
    const { written, record } = open();
    record("db", message);
    await pass(1_000);
    const bytes = Buffer.byteLength(written[0]!.note!);
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThanOrEqual(1024);
  }
});

test("an Event names its object, and is written once for each message", async () => {
  const { written, record } = open();
  expect(record("db", "Conflict: ports", "Warning")).toBe(true);
  expect(record("db", "Conflict: ports", "Warning")).toBe(false);
  expect(record("db", "Conflict: others", "Warning")).toBe(true);
  await pass(1_000);
  expect(written).toMatchObject([{ note: "Conflict: ports" }, { note: "Conflict: others" }]);
  expect(written[0]).toMatchObject({
    type: "Warning",
    reason: "PortConflict",
    reportingInstance: "worker-1",
    regarding: { kind: "ServiceExport", namespace: "shop", name: "db", uid: "uid-db" },
  });
});

test("a burst is written at once, the others at the rate", async () => {
  const { written, record } = open();
  const { burst, perSecond } = EVENT_LIMITS;
  for (let index = 0; index < burst + 2 * perSecond; index++) record(`s-${index}`);
  await settle();
  expect(written).toHaveLength(burst);
  for (let turn = 0; turn < 21; turn++) {
    await pass(100);
    await settle();
  }
  expect(written).toHaveLength(burst + 2 * perSecond);
});

test("too many that wait are dropped and counted; warnings find room where others do not", () => {
  const { record, dropped } = open();
  // One is being written and does not wait.
  for (let index = 0; index < MOST_WAITING.Normal + 1 + 7; index++) record(`s-${index}`);
  expect([...dropped]).toEqual([["queue", 7]]);
  for (let index = 0; index < 1_000; index++) record(`w-${index}`, "", "Warning");
  expect(dropped.get("queue")).toBe(7 + 500);
});

test("one object has a burst and then one Event every five minutes, others have theirs", async () => {
  const { written, record, dropped } = open();
  const { burst } = SPAM_LIMITS;
  for (let index = 0; index < burst + 3; index++) record("db", `message ${index}`);
  record("web");
  await pass(60_000);
  expect(written).toHaveLength(burst + 1);
  expect([...dropped]).toEqual([["object", 3]]);
  await pass(300_000);
  for (const message of ["one more", "and another"]) record("db", message);
  await pass(60_000);
  expect(written).toHaveLength(burst + 2);
  expect([...dropped]).toEqual([["object", 4]]);
});

test("an Event that the API server does not take is dropped and counted, and the next one is written", async () => {
  let isFirst = true;
  const { written, record, dropped } = open(async () => {
    if (!isFirst) return;
    isFirst = false;
    throw new Error("500");
  });
  for (const name of ["a", "b"]) record(name);
  await pass(1_000);
  expect(written).toMatchObject([{ regarding: { name: "b" } }]);
  expect([...dropped]).toEqual([["failed", 1]]);
});

test("a worker that does not lead any more writes none of those that wait, and those of its next term", async () => {
  const { written, record, dropped } = open();
  const term = new AbortController();
  for (let index = 0; index < 200; index++) record(`s-${index}`, "", "Normal", term.signal);
  term.abort();
  record("next");
  await pass(60_000);
  expect(written).toMatchObject([{ regarding: { name: "s-0" } }, { regarding: { name: "next" } }]);
  expect(dropped.size).toBe(0);
});
