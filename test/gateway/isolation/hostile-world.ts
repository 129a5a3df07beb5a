import fc from "fast-check";
import { FOUNDING } from "../../../src/database/ranks.ts";
import type { ClustersetService } from "../../../src/merge/clusterset.ts";
import { nameOf, namespaceOf } from "../../../src/merge/order.ts";
import { mergeEntries } from "../../../src/names/compile-key.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { FakeClock } from "../fake-clock.ts";
import { putSnapshot } from "../open-gateway.ts";
import { openKeyed, REAL_QUERIES } from "../open-keyed.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
export const LEASE = 1_000_000;
/** Sorts before the others, so that no order by name protects them. */
export const HOSTILE = "a";

const forged = fc.constantFrom("1970-01-01T00:00:00Z", "2020-01-01T00:00:01Z", "2999-01-01T00:00:00Z");

/** Whatever the schema takes of a cluster, with creation times as old as it likes. */
export const hostilePush = fc
  .tuple(arbitrarySnapshot(fc.constant(HOSTILE)), fc.array(fc.option(forged), { minLength: 6, maxLength: 6 }))
  .map(([pushed, times]): ClusterSnapshot => {
    const exports = Object.entries(pushed.exports).map(([key, one], index) => [
      key,
      { ...one, exportedAt: times[index % times.length] ?? one.exportedAt },
    ]);
    return { ...pushed, exports: Object.fromEntries(exports) };
  });

/**
 * A gateway after its first day, on which each cluster of the world pushed, and the hostile one an empty
 * snapshot if it is known.
 */
export async function openWorld(world: readonly ClusterSnapshot[], hostileIsKnown: boolean) {
  const clock = new FakeClock(BEGAN);
  clock.nextTurn = (run) => void setImmediate(run);
  const gateway = openKeyed({
    clock,
    names: {
      zones: { ttl: 30, federations: [{ name: "fed", zone: "federation" }] },
      merging: { grants: new Map([["north", "*" as const]]) },
    },
    queries: {
      ...REAL_QUERIES,
      // A serial says when something changed, whatever it was.
      resolve: (query, context) =>
        REAL_QUERIES.resolve(query, { ...context, world: Object.assign(context.world, { serial: 1 }) }),
    },
    limits: { lease: { ...DEFAULT_LEASE, maximumSeconds: LEASE } },
  });
  const push = async (snapshot: ClusterSnapshot, lease: number) => {
    await putSnapshot(gateway, snapshot, { leaseSeconds: lease });
  };
  for (const snapshot of world) await push(snapshot, LEASE);
  if (hostileIsKnown)
    await push(
      { ...world[0]!, clusterId: HOSTILE, namespaces: {}, exports: {}, imports: {}, services: {}, pods: {} },
      LEASE,
    );
  await clock.advance(FOUNDING + 1);
  return {
    gateway,
    clock,
    push,
    /** The services that are answered now. */
    services: (): ClustersetService[] => {
      const { entries, rules } = gateway.everything.current()!.world;
      return [...entries.serviceKeys()].flatMap((key) => {
        const reported = entries.service(namespaceOf(key), nameOf(key));
        return (reported && mergeEntries(key, reported, rules).service) ?? [];
      });
    },
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;
