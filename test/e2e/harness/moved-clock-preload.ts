/**
 * Loaded before a program (`--import`), in each of its threads: its clocks are ahead of the machine's by what the file MOVED_CLOCK_FILE says at that
 * moment, two float64 of milliseconds. The first one is that of the wall clock, as when a machine's clock is set; the second one that of
 * `performance.now()` and `process.hrtime`. Timers run as they always do.
 */
import { openSync, readSync } from "node:fs";

const path = process.env.MOVED_CLOCK_FILE;
if (path === undefined) throw new Error("MOVED_CLOCK_FILE is not set");
const file = openSync(path, "r");
const ahead = new Float64Array(2);

function read(index: 0 | 1): number {
  readSync(file, ahead, 0, ahead.byteLength, 0);
  return ahead[index]!;
}

const RealDate = Date;
const now = () => RealDate.now() + read(0);
// A proxy, so that dates that Node makes itself are instances of it, too.
globalThis.Date = new Proxy(RealDate, {
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
});

const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() + read(1);
const { bigint } = process.hrtime;
process.hrtime.bigint = () => bigint() + BigInt(Math.round(read(1) * 1e6));
