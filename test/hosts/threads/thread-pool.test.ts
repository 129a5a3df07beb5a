import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { allocateLimits } from "../../../src/hosts/node/gateway/parts.ts";
import { nodeClock } from "../../../src/hosts/node/process.ts";
import { startThreads } from "../../../src/hosts/node/threads/thread-pool.ts";
import { ThreadSharing } from "../../../src/hosts/node/threads/thread-sharing.ts";
import { until } from "../../until.ts";

const run = promisify(execFile);
const ENTRY = new URL("failing-thread.ts", import.meta.url);

async function openPool() {
  const log = vi.fn();
  /** What a thread that starts gets. */
  const state: { stubs: { name: string; nameservers: [] }[] } = { stubs: [] };
  const config = readServeConfig({ public: true, listen: "localhost:0" });
  const sharing = new ThreadSharing(nodeClock);
  const pool = await startThreads({
    threads: 2,
    config,
    tls: undefined,
    database: ":memory:",
    sharing,
    shared: { clear: () => {} },
    limitMemory: allocateLimits(config, 2),
    stubs: { list: () => state.stubs },
    fetch: () => new Response(),
    log,
    entry: ENTRY,
  });
  onTestFinished(() => pool.stop(0));
  log.mockClear();
  const events = () => log.mock.calls.map(([, event]) => event);
  const order = (name: string) => sharing.post({ stubs: [{ name, nameservers: [] }] });
  return { pool, state, events, order };
}

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

it("a process whose only thread ends soon after its start lives until that one is replaced", async () => {
  const script = new URL("lone-thread.ts", import.meta.url).pathname;
  const { stdout } = await run(process.execPath, [script]);
  expect(stdout.trim().split("\n")).toEqual(["threads", "thread-ended", "thread-replaced"]);
});
