import { afterEach, describe, expect, it, vi } from "vitest";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { allocateLimits } from "../../../src/hosts/node/gateway/parts.ts";
import { nodeClock } from "../../../src/hosts/node/process.ts";
import { startThreads } from "../../../src/hosts/node/threads/thread-pool.ts";
import { ThreadSharing } from "../../../src/hosts/node/threads/thread-sharing.ts";
import { until } from "../../until.ts";

const ENTRY = new URL("failing-thread.ts", import.meta.url);

const pools: Awaited<ReturnType<typeof startThreads>>[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop(0)));
});

async function openPool(publicUrl?: string) {
  const log = vi.fn();
  const onStop = vi.fn();
  const onEnded = vi.fn();
  /** What a thread that starts gets. */
  const state: { stubs: { name: string; nameservers: [] }[] } = { stubs: [] };
  const config = readServeConfig({
    public: true,
    listen: "localhost:0",
    ...(publicUrl !== undefined && { publicUrl }),
  });
  const sharing = new ThreadSharing(nodeClock);
  vi.spyOn(sharing.signals, "start").mockReturnValue(onStop);
  const pool = await startThreads({
    threads: 2,
    config,
    tls: undefined,
    database: ":memory:",
    sharing,
    shared: { clear: onEnded },
    limitMemory: allocateLimits(config, 2),
    stubs: { list: () => state.stubs },
    fetch: () => new Response(),
    log,
    entry: ENTRY,
  });
  pools.push(pool);
  log.mockClear();
  const events = () => log.mock.calls.map(([, event]) => event);
  const order = (name: string) => sharing.post({ stubs: [{ name, nameservers: [] }] });
  return { pool, state, log, events, order, onStop, onEnded, replaced: () => sharing.replaced };
}

describe("an answering thread that ends", () => {
  it.each([
    ["with an uncaught error", "throw-1", /an uncaught error/],
    ["by its own wish", "exit-1", /the thread ended/],
  ])("%s is logged, counted and replaced; the other one runs on", async (_, name, reason) => {
    const { pool, log, events, order, onEnded, replaced } = await openPool();
    order(name);
    await until(() => expect(events()).toContain("thread-replaced"));
    expect(events()).toEqual(["thread-ended", "thread-replaced"]);
    const [level, , , fields] = log.mock.calls[0]!;
    expect([level, fields.thread]).toEqual(["error", 1]);
    expect(onEnded.mock.calls).toEqual([[1]]);
    expect(String(fields.err)).toMatch(reason);
    expect([pool.running, replaced()]).toEqual([2, 1]);
  });

  it("is replaced again and again", async () => {
    const { pool, events, order, replaced } = await openPool();
    for (let time = 1; time <= 2; time++) {
      order("throw-0");
      await until(() => expect(events().filter((event) => event === "thread-replaced")).toHaveLength(time));
    }
    expect([pool.running, replaced()]).toEqual([2, 2]);
  });
});

describe("a thread that cannot be replaced", () => {
  it("does not count as one that runs, and is tried again", async () => {
    const { pool, state, events, order } = await openPool();
    state.stubs = [{ name: "exit-1", nameservers: [] }];
    order("exit-1");
    await until(() => expect(events()).toContain("thread-not-started"));
    expect(pool.running).toBe(1);
    state.stubs = [];
    await until(() => expect(events()).toContain("thread-replaced"));
    expect(pool.running).toBe(2);
  });
});

describe("a pool", () => {
  it("lets no thread listen before all are prepared, or the first one would get all connections", async () => {
    const { pool } = await openPool();
    expect(pool.port).toBe(8002);
  });

  it("does not start where a thread cannot listen", async () => {
    await expect(openPool("https://unusable.test")).rejects.toThrow(/cannot listen/);
  });

  it("that stops ends its threads and replaces none", async () => {
    const { pool, events, onStop, replaced } = await openPool();
    await pool.stop(100);
    expect(onStop).toHaveBeenCalledOnce();
    expect(replaced()).toBe(0);
    expect(events()).toEqual([]);
  });
});
