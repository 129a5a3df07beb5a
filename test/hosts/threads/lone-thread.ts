import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { allocateLimits } from "../../../src/hosts/node/gateway/parts.ts";
import { nodeClock } from "../../../src/hosts/node/process.ts";
import { startThreads } from "../../../src/hosts/node/threads/thread-pool.ts";
import { ThreadSharing } from "../../../src/hosts/node/threads/thread-sharing.ts";

/*
 * A process that does nothing but replace its only thread, which ends soon after its start. It prints the
 * events of its log.
 */

const config = readServeConfig({ public: true, listen: "localhost:0" });
const sharing = new ThreadSharing(nodeClock);
await startThreads({
  threads: 1,
  config,
  tls: undefined,
  database: ":memory:",
  sharing,
  shared: { clear: () => {} },
  limitMemory: allocateLimits(config, 1),
  stubs: { list: () => [] },
  fetch: () => new Response(),
  log: (_, event) => {
    console.log(event);
    if (event === "thread-replaced") process.exit(0);
  },
  entry: new URL("failing-thread.ts", import.meta.url),
});
sharing.post({ stubs: [{ name: "exit-0", nameservers: [] }] });
