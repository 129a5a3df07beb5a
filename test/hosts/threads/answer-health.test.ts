import { describe, expect, it } from "vitest";
import type { Application, NodeRequest } from "../../../src/hosts/node/server/requests.ts";
import { answerHealth } from "../../../src/hosts/node/threads/start-thread.ts";
import { ThreadSignals } from "../../../src/hosts/node/threads/thread-sharing.ts";

const NOW = 5_000_000;
const saying =
  (text: string): Application =>
  async () => ({ status: 200, headers: {}, body: new TextEncoder().encode(text) });
const MAIN = saying("main thread");
const NEVER: Application = () => new Promise(() => {});

interface Asked {
  readonly isStarted?: boolean;
  readonly isReady?: boolean;
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
  // Until every thread listens.
  ["/healthz", 0, { isStarted: false }, THERE],
  // The main thread knows more.
  ["/readyz", 0, {}, THERE],
  ["/readyz", 4000, {}, THERE],
  ["/readyz", 0, STUCK, [200, "ready"]],
  ["/readyz", 5000, STUCK, [200, "ready"]],
  ["/readyz", 0, { ...STUCK, isReady: false }, [503, "not ready"]],
  ["/readyz", 5000, { ...STUCK, isReady: false }, [503, "not ready"]],
  ["/status", 0, {}, THERE],
  ["/healthz/more", 0, {}, THERE],
  ["/healthz", 0, { method: "POST" }, THERE],
  ["/readyz", 90_000, { method: "PUT" }, THERE],
])("%s, %d ms after the main thread ran, %j: %j", async (path, silence, asked, expected) => {
  const { isStarted = true, isReady = true, method = "GET", main = MAIN } = asked;
  const signals = new ThreadSignals();
  signals.beat(NOW - silence);
  if (isStarted) signals.markStarted();
  const health = { here: saying("this thread"), signals, isReady: () => isReady, clock: () => NOW };
  const { status, body } = await answerHealth(health, main)({ method, url: path } as NodeRequest);
  expect([status, new TextDecoder().decode(body!).trimEnd()]).toEqual(expected);
});

describe("the silence of the main thread", () => {
  it.each([
    [0, 0],
    [1000, 0],
    [2000, 2000],
    [61_000, 61_000],
  ])("%d ms after its last sign of life is %d ms", (passed, silence) => {
    const signals = new ThreadSignals();
    signals.beat(NOW);
    expect(new ThreadSignals(signals.memory).silence(NOW + passed)).toBe(silence);
  });
});
