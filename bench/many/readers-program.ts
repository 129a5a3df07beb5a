/** Secondaries in a process of their own, which follow a gateway by the transfer protocol and answer nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { HttpTransferSource, SINCE_FIELD } from "../../src/transfer/http-source.ts";
import type { NamedBytes } from "../../src/transfer/transfer-state.ts";
import { readSpec, takeOrders } from "../processes/forked-program.ts";
import type { ReadersCounts, ReadersSpec } from "./readers.ts";

/** Milliseconds between two requests for the state. */
const REFRESH = 1000;

const { url, token, count } = await readSpec<ReadersSpec>();
const nothing: ReadersCounts = { states: 0, stateBytes: 0, roots: 0, rootBytes: 0, wholeRoots: 0, failed: 0 };
let counts = { ...nothing };

const countedFetch = async (address: string, request: RequestInit): Promise<Response> => {
  const response = await fetch(address, request);
  const isState = new URL(address).pathname.endsWith("/state");
  if (isState) counts.states++;
  else if (response.ok && !response.headers.has(SINCE_FIELD)) counts.wholeRoots++;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      counts[isState ? "stateBytes" : "rootBytes"] += part.length;
      controller.enqueue(part);
    },
  });
  return new Response(response.body?.pipeThrough(counter) ?? null, response);
};

async function follow(isFollowing: () => void): Promise<void> {
  const source = new HttpTransferSource({ gateway: url, token, fetch: countedFetch });
  let held: NamedBytes | undefined;
  await sleep(Math.random() * REFRESH);
  for (;;) {
    const begun = performance.now();
    try {
      const hash = (await source.state(0)).status.rootHash;
      if (hash !== undefined && hash !== held?.hash) {
        const root = await source.root(hash, held);
        // Undefined if it is replaced already: the next state names another one.
        if (root !== undefined) {
          held = { hash, bytes: root.bytes };
          counts.roots++;
          isFollowing();
        }
      }
    } catch {
      counts.failed++;
    }
    await sleep(Math.max(0, REFRESH - (performance.now() - begun)));
  }
}

await Promise.all(Array.from({ length: count }, () => new Promise<void>((resolve) => void follow(resolve))));
takeOrders({
  counts(): ReadersCounts {
    const counted = counts;
    counts = { ...nothing };
    return counted;
  },
});
