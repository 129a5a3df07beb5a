import { describe, expect, it } from "vitest";
import type { Application, NodeRequest } from "../../../src/hosts/node/server/answer-request.ts";
import { answerHealth } from "../../../src/hosts/node/threads/start-thread.ts";
import { ThreadSignals } from "../../../src/hosts/node/threads/thread-sharing.ts";

const NOW = 5_000_000;
const saying =
  (text: string): Application =>
  async () => ({ status: 200, headers: {}, body: new TextEncoder().encode(text) });
const MAIN = saying("main thread");
const NEVER: Application = () => new Promise(() => {});

interface Asked {
  readonly path: string;
  /** Milliseconds since the last sign of life of the main thread. Default: 0 */
  readonly silence?: number;
  readonly isStarted?: boolean;
  readonly isReady?: boolean;
  readonly method?: string;
  readonly main?: Application;
}

async function answerTo({ path, silence = 0, isStarted = true, isReady = true, method, main }: Asked) {
  const signals = new ThreadSignals();
  signals.beat(NOW - silence);
  if (isStarted) signals.markStarted();
  const health = { here: saying("this thread"), signals, isReady: () => isReady, clock: () => NOW };
  const answer = answerHealth(health, main ?? MAIN);
  const { status, body } = await answer({ method: method ?? "GET", url: path } as NodeRequest);
  return [status, new TextDecoder().decode(body!).trimEnd()];
}

describe("/healthz", () => {
  it.each([
    ["/healthz", 0],
    ["/healthz?verbose", 0],
    ["/healthz", 60_000],
  ])("%s is answered by the thread, %d ms after the main thread ran", async (path, silence) => {
    expect(await answerTo({ path, silence, main: NEVER })).toEqual([200, "this thread"]);
  });

  it("is 503 when the main thread has not run for more than a minute", async () => {
    expect(await answerTo({ path: "/healthz", silence: 61_000 })).toEqual([
      503,
      "the thread that takes changes has not run for 61 s",
    ]);
  });

  it("is answered by the main thread until every thread listens", async () => {
    expect(await answerTo({ path: "/healthz", isStarted: false })).toEqual([200, "main thread"]);
  });
});

describe("/readyz", () => {
  it("is answered by the main thread, which knows more", async () => {
    expect(await answerTo({ path: "/readyz" })).toEqual([200, "main thread"]);
    expect(await answerTo({ path: "/readyz", silence: 4000 })).toEqual([200, "main thread"]);
  });

  it.each([
    ["does not answer", 0],
    ["has not run for a while", 5000],
  ])("is answered by the thread where the main thread %s", async (_, silence) => {
    expect(await answerTo({ path: "/readyz", silence, main: NEVER })).toEqual([200, "ready"]);
    expect(await answerTo({ path: "/readyz", silence, main: NEVER, isReady: false })).toEqual([
      503,
      "not ready",
    ]);
  });
});

it.each([
  { path: "/status" },
  { path: "/healthz/more" },
  { path: "/healthz", method: "POST" },
  { path: "/readyz", method: "PUT", silence: 90_000 },
])("hands over $path, $method", async (asked) => {
  expect(await answerTo(asked)).toEqual([200, "main thread"]);
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
