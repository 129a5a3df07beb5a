import { readServeConfig } from "../../../src/hosts/node/config.ts";
import { allocateLimits } from "../../../src/hosts/node/gateway/parts.ts";
import { nodeClock } from "../../../src/hosts/node/process.ts";
import { startThreads } from "../../../src/hosts/node/threads/thread-pool.ts";
import { ThreadSharing } from "../../../src/hosts/node/threads/thread-sharing.ts";

type Stub = { readonly name: string; readonly nameservers: string[] };

/** Starts threads that end when they are ordered to. @param state what a thread that starts gets */
export async function startFailingThreads(
  threads: number,
  log: (level: string, event: string) => void,
  state: { stubs: Stub[] } = { stubs: [] },
) {
  const config = readServeConfig({ public: true, listen: "localhost:0" });
  const sharing = new ThreadSharing(nodeClock);
  const pool = await startThreads({
    threads,
    config,
    tls: undefined,
    database: ":memory:",
    sharing,
    shared: { clear: () => {} },
    limitMemory: allocateLimits(config, threads),
    stubs: { list: () => state.stubs },
    fetch: () => new Response(),
    log,
    entry: new URL("failing-thread.ts", import.meta.url),
  });
  return { pool, order: (name: string) => sharing.post({ stubs: [{ name, nameservers: [] }] }) };
}
