import { MessageChannel } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Application, NodeRequest } from "../../../src/hosts/node/server/requests.ts";
import { answerHealth, followStates } from "../../../src/hosts/node/threads/start-thread.ts";
import { ThreadSignals, type ThreadState } from "../../../src/hosts/node/threads/thread-sharing.ts";
import { until } from "../../until.ts";

const NOW = Date.UTC(2040, 0, 1);

/** The words of a thread, over the memory of the main thread. */
function signalsOfBoth() {
  const main = new ThreadSignals();
  return { main, thread: new ThreadSignals(main.memory) };
}

describe("what the main thread shares", () => {
  it("is read by threads: serials of 32 bits, and a wall clock that is years ahead or behind", () => {
    const { main, thread } = signalsOfBoth();
    for (const [serial, wallOffset] of [
      [1, 0],
      [2 ** 32 - 1, 10 * 365 * 86_400_000],
      [2 ** 31, -10 * 365 * 86_400_000],
    ] as const) {
      main.share({ serial, wallOffset });
      expect([thread.serial, thread.wallOffset]).toEqual([serial, wallOffset]);
    }
  });

  it("has answers say that they are stale while a change waits, or the main thread stands still", () => {
    const { main, thread } = signalsOfBoth();
    main.beat(NOW);
    expect(thread.behindSince(NOW)).toBeUndefined();
    main.shareBehind(NOW - 7000);
    expect(thread.behindSince(NOW)).toBe(NOW - 7000);
    main.shareBehind(undefined);
    expect(thread.behindSince(NOW + 4000)).toBeUndefined();
    expect(thread.behindSince(NOW + 5000)).toBe(NOW);
    const silences = [0, 1000, 2000, 61_000].map((passed) => thread.silence(NOW + passed));
    expect(silences).toEqual([0, 0, 2000, 61_000]);
  });
});

describe("a thread that follows", () => {
  let channel: MessageChannel;
  beforeEach(() => {
    channel = new MessageChannel();
  });
  afterEach(() => channel.port1.close());

  function open(signals: ThreadSignals) {
    const follow = vi.fn();
    const taken: ThreadState[] = [];
    const now = followStates({ states: channel.port2, signals, follow, take: (state) => taken.push(state) });
    const post = (name: string) => channel.port1.postMessage({ stubs: [{ name, nameservers: [] }] });
    const names = () => taken.map(({ stubs }) => stubs![0]!.name);
    return { follow, now, post, names };
  }

  it("reads the database when something changed, and again where that failed", () => {
    const signals = new ThreadSignals();
    const { follow, now } = open(signals);
    now();
    now();
    expect(follow).toHaveBeenCalledTimes(1);
    signals.post();
    follow.mockImplementationOnce(() => {
      throw new Error("locked");
    });
    expect(now).toThrow("locked");
    now();
    now();
    expect(follow).toHaveBeenCalledTimes(3);
  });

  it("takes over messages in order, at once with a query after all threads have them, else soon", async () => {
    const signals = new ThreadSignals();
    const { now, post, names } = open(signals);
    now();
    post("first");
    post("second");
    signals.post();
    now();
    expect(names()).toEqual(["first", "second"]);
    post("third");
    await until(() => expect(names()).toEqual(["first", "second", "third"]));
  });
});

const saying =
  (text: string): Application =>
  async () => ({ status: 200, headers: {}, body: new TextEncoder().encode(text) });
const MAIN = saying("main thread");
const NEVER: Application = () => new Promise(() => {});

interface Asked {
  readonly method?: string;
  readonly main?: Application;
}

const STUCK = { main: NEVER };
const HERE = [200, "this thread"];
const THERE = [200, "main thread"];
const HUNG = [503, "the thread that takes changes has not run for 61 s"];

it.each<[path: string, silence: number, Asked, expected: unknown[]]>([
  ["/healthz", 0, STUCK, HERE],
  ["/healthz?verbose", 0, STUCK, HERE],
  ["/healthz", 60_000, STUCK, HERE],
  ["/healthz", 61_000, {}, HUNG],
  // The main thread knows more.
  ["/readyz", 0, {}, THERE],
  ["/readyz", 0, STUCK, HERE],
  ["/readyz", 5000, {}, HERE],
  ["/status", 0, {}, THERE],
  ["/healthz/more", 0, {}, THERE],
  ["/healthz", 0, { method: "POST" }, THERE],
])("%s, %d ms after the main thread ran, %j: %j", async (path, silence, asked, expected) => {
  const { method = "GET", main = MAIN } = asked;
  const signals = new ThreadSignals();
  signals.beat(NOW - silence);
  const health = { here: saying("this thread"), signals, clock: () => NOW };
  const { status, body } = await answerHealth(health, main)({ method, url: path } as NodeRequest);
  expect([status, new TextDecoder().decode(body!).trimEnd()]).toEqual(expected);
});
