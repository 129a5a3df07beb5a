/**
 * Loaded before a program (`--import`) in its main thread and in every other: at SIGUSR2 all of them collect
 * their garbage, and give the free memory back to the system.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BroadcastChannel, getEnvironmentData, isMainThread, setEnvironmentData } from "node:worker_threads";

const KEY = "collect-at-signal";
/** Words of shared memory: how many other threads there are, and how many collections they have done. */
const Word = { threads: 0, done: 1 } as const;
/** A thread that has ended does not collect. */
const PATIENCE_MS = 5000;

setFlagsFromString("--expose-gc");
const gc: (options: object) => void = runInNewContext("gc");
const collect = () => gc({ type: "major", execution: "sync", flavor: "last-resort" });
const channel = new BroadcastChannel(KEY);
channel.unref();
if (isMainThread) {
  const words = new Int32Array(new SharedArrayBuffer(8));
  setEnvironmentData(KEY, words);
  process.on("SIGUSR2", () => {
    const until = performance.now() + PATIENCE_MS;
    const all = Atomics.load(words, Word.done) + Atomics.load(words, Word.threads);
    channel.postMessage("collect");
    collect();
    for (let done = 0; ; ) {
      done = Atomics.load(words, Word.done);
      const left = until - performance.now();
      if (done >= all || left <= 0) break;
      Atomics.wait(words, Word.done, done, left);
    }
  });
} else {
  const words = getEnvironmentData(KEY) as unknown as Int32Array<SharedArrayBuffer>;
  Atomics.add(words, Word.threads, 1);
  channel.onmessage = () => {
    collect();
    Atomics.add(words, Word.done, 1);
    Atomics.notify(words, Word.done);
  };
}
