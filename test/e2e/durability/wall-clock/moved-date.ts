/**
 * Loaded before a program (`--import`): moves its wall clock by what the file WALL_CLOCK_OFFSET_FILE says at that moment, a float64
 * of milliseconds. As when a machine's clock is set, `performance.now()` and timers do not notice.
 */
import { openSync, readSync } from "node:fs";

const path = process.env.WALL_CLOCK_OFFSET_FILE;
if (path === undefined) throw new Error("WALL_CLOCK_OFFSET_FILE is not set");
const file = openSync(path, "r");
const offset = new Float64Array(1);
const RealDate = Date;

function now(): number {
  readSync(file, offset, 0, offset.byteLength, 0);
  return RealDate.now() + offset[0]!;
}

// A proxy, so that dates that Node makes itself are instances of it, too.
globalThis.Date = new Proxy(RealDate, {
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
});
