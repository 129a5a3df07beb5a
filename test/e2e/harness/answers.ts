import { isDeepStrictEqual } from "node:util";
import type { RecordType } from "dns-packet";
import { expect } from "vitest";
import { DEADLINE } from "../../deadline.ts";
import { waitFor } from "../servers/wait.ts";
import type { AskOptions, GatewayClient } from "./gateway-client.ts";

/** The values of an answer, sorted; without values "NODATA", or the rcode if it is not NOERROR. */
export type Answered = string[] | string;

/** `name` without `.svc.clusterset.local`: `web.shop`, `db-0.cluster-a.db.shop`. */
export async function answered(
  gateway: GatewayClient,
  name: string,
  type: RecordType = "A",
  options: AskOptions = {},
): Promise<Answered> {
  const { rcode, values } = await gateway.lookup(`${name}.svc.clusterset.local`, type, options);
  if (rcode !== "NOERROR") return rcode;
  return values.length > 0 ? values : "NODATA";
}

/** An expectation that is tried again, errors included, until it holds or the deadline has passed. */
export function eventually<T>(probe: () => Promise<T> | T) {
  return expect.poll(probe, { timeout: DEADLINE, interval: 50 });
}

/**
 * What the gateway answers before long: `await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"])`.
 */
export function eventualAnswer(
  gateway: GatewayClient,
  name: string,
  type: RecordType = "A",
  options: AskOptions = {},
) {
  return eventually(() => answered(gateway, name, type, options));
}

/**
 * For hooks and tests that run side by side, where no expectation can be tried again: waits until `probe`
 * gives `expected`.
 */
export async function untilEqual<T>(what: string, probe: () => Promise<T> | T, expected: T): Promise<void> {
  let last: T | undefined;
  await waitFor(what, async () => {
    last = await probe();
    return isDeepStrictEqual(last, expected);
  }).catch((cause: Error) => {
    throw new Error(`${cause.message}: is ${JSON.stringify(last)}, not ${JSON.stringify(expected)}`, {
      cause,
    });
  });
}

/** For hooks: waits until the gateway gives this answer for A. */
export function untilAnswered(gateway: GatewayClient, name: string, expected: Answered): Promise<void> {
  return untilEqual(name, () => answered(gateway, name), expected);
}

/** For hooks: waits until that many clusters are live. */
export async function untilLive(gateway: GatewayClient, clusters: number): Promise<void> {
  await waitFor(`${clusters} live clusters`, async () =>
    (await gateway.http("/readyz")).text.includes(`${clusters} of ${clusters} clusters live`),
  );
}

/** The value of a metric with exactly these labels, in any order; 0 where it was never counted. */
export async function metric(
  gateway: GatewayClient,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const { text } = await gateway.http("/metrics");
  const wanted = Object.entries(labels)
    .map(([label, value]) => `${label}="${value}"`)
    .sort()
    .join();
  for (const line of text.split("\n")) {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    if ((match[2] ?? "").split(",").sort().join() === wanted) return Number(match[3]);
  }
  return 0;
}

/** How many deltas and full snapshots the gateway has accepted. */
export async function acceptedPushes(gateway: GatewayClient): Promise<{ full: number; delta: number }> {
  const name = "clusterset_doh_pushes_total";
  return {
    full: await metric(gateway, name, { method: "PUT", status: "200" }),
    delta: await metric(gateway, name, { method: "PATCH", status: "200" }),
  };
}
