import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../until.ts";
import { startFailingThreads } from "./failing-pool.ts";

it("a thread that cannot be replaced does not count as one that runs, and is tried again", async () => {
  const events: string[] = [];
  const state = { stubs: [{ name: "none", nameservers: [] }] };
  const { pool, order } = await startFailingThreads(2, (_, event) => events.push(event), state);
  onTestFinished(() => pool.stop(0));
  state.stubs = [{ name: "exit-1", nameservers: [] }];
  order("exit-1");
  await until(() => expect(events).toContain("thread-not-started"));
  expect(pool.running).toBe(1);
  state.stubs = [];
  await until(() => expect(events).toContain("thread-replaced"));
  expect(pool.running).toBe(2);
});

it("a process whose only thread ends soon after its start lives until that one is replaced", async () => {
  const script = new URL("lone-thread.ts", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(stdout.trim().split("\n")).toEqual(["threads", "thread-ended", "thread-replaced"]);
});
