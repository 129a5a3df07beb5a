import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { DAY, HOUR, WallClock } from "./wall-clock.ts";

// Prints the time once for each line that it reads.
const program = `
  process.stdin.on("data", () => {
    const made = [Date.now(), new Date().getTime(), Date.parse(Date())];
    const isDate = require("node:fs").statSync(".").mtime instanceof Date && new Date(0).getTime() === 0;
    console.log(JSON.stringify({ made, isDate, monotonic: performance.timeOrigin + performance.now() }));
  });`;

test("the wall clock of a process that runs can be set to and fro, and its monotonic clock does not notice", async () => {
  const clock = new WallClock(-HOUR);
  const child = spawn(process.execPath, ["-e", program], { env: { ...process.env, ...clock.env } });
  const lines = createInterface(child.stdout);
  const hoursOff = async () => {
    child.stdin.write("\n");
    const [line] = await once(lines, "line");
    const { made, isDate, monotonic } = JSON.parse(String(line));
    expect(isDate).toBe(true);
    const hours = (time: number) => Math.round((time - Date.now()) / HOUR) + 0;
    expect(hours(monotonic)).toBeCloseTo(0);
    return made.map(hours);
  };
  try {
    expect(await hoursOff()).toEqual([-1, -1, -1]);
    clock.set(DAY);
    expect(await hoursOff()).toEqual([24, 24, 24]);
    clock.set(0);
    expect(await hoursOff()).toEqual([0, 0, 0]);
  } finally {
    child.kill("SIGKILL");
  }
});
