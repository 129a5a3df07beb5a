import { startFailingThreads } from "./failing-pool.ts";

/* A process that only replaces its only thread, which ends soon after its start, and prints its events. */

const { order } = await startFailingThreads(1, (_, event) => {
  console.log(event);
  if (event === "thread-replaced") process.exit(0);
});
order("exit-0");
