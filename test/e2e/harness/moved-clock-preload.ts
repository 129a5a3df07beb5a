/**
 * Loaded before a program (`--import`), in each of its threads: its clocks are ahead of the machine's by what
 * the file MOVED_CLOCK_FILE says at that moment, in milliseconds as a float64. Timers run as they always do,
 * unless MOVED_CLOCK_TIMERS is set: then those of the globals and of `node:timers/promises` are due when the
 * moved clock has passed them. `AbortSignal.timeout` keeps to the machine's clock.
 */
import { openSync, readSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";

const path = process.env.MOVED_CLOCK_FILE;
if (path === undefined) throw new Error("MOVED_CLOCK_FILE is not set");
const file = openSync(path, "r");
const ahead = new Float64Array(1);

function read(): number {
  readSync(file, ahead, 0, ahead.byteLength, 0);
  return ahead[0]!;
}

const RealDate = Date;
const now = () => RealDate.now() + read();
// A proxy, so that dates that Node makes itself are instances of it, too.
globalThis.Date = new Proxy(RealDate, {
  get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new RealDate(now()).toString(),
});

const elapsed = performance.now.bind(performance);
performance.now = () => elapsed() + read();
const { bigint } = process.hrtime;
process.hrtime.bigint = () => bigint() + BigInt(Math.round(read() * 1e6));

if (process.env.MOVED_CLOCK_TIMERS !== undefined) moveTimers();

/** Timers that the moved clock has passed end at once; all others end as they always do. */
function moveTimers(): void {
  const { setTimeout, setInterval, clearTimeout } = globalThis;
  const pauseFor = timersPromises.setTimeout;
  const waiting = new Map<unknown, { readonly due: number; readonly end: () => void }>();
  let before = 0;
  setInterval(() => {
    const moved = read();
    if (moved === before) return;
    before = moved;
    const now = performance.now();
    for (const { due, end } of [...waiting.values()]) if (due <= now) end();
  }, 10).unref();

  type Run = (...args: unknown[]) => void;
  const movedTimeout = (run: Run, milliseconds = 1, ...args: unknown[]) => {
    const timer = setTimeout(() => isWaiting() && end(), milliseconds);
    const isWaiting = () => waiting.has(timer);
    function end(): void {
      waiting.delete(timer);
      // It cannot be cleared: whoever has it may start it again.
      timer.unref();
      run(...args);
    }
    const begin = () => waiting.set(timer, { due: performance.now() + milliseconds, end });
    const { refresh } = timer;
    timer.refresh = () => {
      begin();
      return refresh.call(timer);
    };
    begin();
    return timer;
  };
  const movedInterval = (run: Run, milliseconds = 1, ...args: unknown[]) => {
    const timer = setInterval(end, milliseconds);
    const begin = () => waiting.set(timer, { due: performance.now() + milliseconds, end });
    function end(): void {
      begin();
      run(...args);
    }
    begin();
    return timer;
  };
  const clear = (timer: NodeJS.Timeout | undefined) => {
    waiting.delete(timer);
    clearTimeout(timer);
  };
  async function movedPause<T>(milliseconds = 1, value?: T, options: { readonly signal?: AbortSignal } = {}) {
    const over = new AbortController();
    const signals = options.signal === undefined ? [over.signal] : [over.signal, options.signal];
    waiting.set(over, { due: performance.now() + milliseconds, end: () => over.abort() });
    try {
      return await pauseFor(milliseconds, value, { ...options, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (over.signal.aborted && options.signal?.aborted !== true) return value as T;
      throw error;
    } finally {
      waiting.delete(over);
    }
  }
  Object.assign(globalThis, { setTimeout: movedTimeout, setInterval: movedInterval });
  Object.assign(globalThis, { clearTimeout: clear, clearInterval: clear });
  Object.assign(timersPromises, { setTimeout: movedPause });
  syncBuiltinESMExports();
}
