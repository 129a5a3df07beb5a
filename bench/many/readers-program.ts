/**
 * Secondaries in a process of their own, which follow a gateway by the transfer protocol, keep one key, and
 * answer nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { waitingClock } from "../../src/gateway/clock.ts";
import { HttpTransferSource } from "../../src/transfer/http-source.ts";
import { PartMemory } from "../../src/transfer/part-cache.ts";
import { PartFetcher } from "../../src/transfer/part-fetcher.ts";
import { wantedKey } from "../../src/transfer/reader-world.ts";
import { FollowedLog } from "../../src/transfer/secondary.ts";
import { readSpec, takeOrders } from "../processes/forked-program.ts";
import type { ReadersCounts, ReadersSpec } from "./readers.ts";

/** Milliseconds between two requests for the state. */
const REFRESH = 1000;
/** For a part. */
const TIMEOUT = 10_000;
const MEMORY = 1024 * 1024;

const { url, token, count, key } = await readSpec<ReadersSpec>();
const nothing: ReadersCounts = { states: 0, stateBytes: 0, keys: 0, partBytes: 0, failed: 0 };
let counts = { ...nothing };

const countedFetch = async (address: string, request: RequestInit): Promise<Response> => {
  const response = await fetch(address, request);
  const { pathname } = new URL(address);
  const isState = pathname.endsWith("/state");
  if (isState) counts.states++;
  else if (pathname.endsWith("/key") && response.ok) counts.keys++;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      counts[isState ? "stateBytes" : "partBytes"] += part.length;
      controller.enqueue(part);
    },
  });
  return new Response(response.body?.pipeThrough(counter) ?? null, response);
};

async function follow(isFollowing: () => void): Promise<void> {
  const source = new HttpTransferSource({ gateway: url, token, fetch: countedFetch });
  const onEvent = () => void counts.failed++;
  const fetcher = new PartFetcher({ source, scope: "", clock: waitingClock, timeout: TIMEOUT, onEvent });
  const log = new FollowedLog(fetcher, new PartMemory(MEMORY));
  const [namespace, label] = key.split("/") as [string, string];
  await sleep(Math.random() * REFRESH);
  for (let hasKey = false; ; ) {
    const begun = performance.now();
    try {
      // Fetches keys that are in memory and changed.
      log.take(await log.fetch(await source.state(0)));
      const cache = log.cache!;
      hasKey ||= await fetcher.load(wantedKey("clusterset", namespace, label, cache.changes.newest), cache);
      if (hasKey) isFollowing();
    } catch (error) {
      if (!hasKey) throw error;
      counts.failed++;
    }
    await sleep(Math.max(0, REFRESH - (performance.now() - begun)));
  }
}

await Promise.all(
  Array.from({ length: count }, () => new Promise<void>((resolve, reject) => follow(resolve).catch(reject))),
);
takeOrders({
  counts(): ReadersCounts {
    const counted = counts;
    counts = { ...nothing };
    return counted;
  },
});
