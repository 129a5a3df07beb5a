import fc from "fast-check";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/pushing/limits.ts";
import { FOUNDING } from "../../../src/gateway/remembered/precedence.ts";
import { notReady } from "../../../src/resolve/error-responses.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import type { ZoneSource } from "../../../src/zone/zone-source.ts";
import { MemoryLog } from "../../store/shared/memory-log.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { FakeClock } from "../fake-clock.ts";
import { putSnapshot } from "../pushes.ts";
import { realCompiler } from "../real-stages.ts";
import { InTurn, type TestedGateway, type TestedParts } from "../replica/in-turn.ts";
import { RunningClock } from "../replica/replicas.ts";

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

/** What keeps the state of a gateway. */
export const KEEPERS = ["a store", "a log of two gateways that take requests in turn"] as const;
type Keeper = (typeof KEEPERS)[number];

function openGateway(keeper: Keeper, parts: TestedParts): Promise<TestedGateway> {
  if (keeper === "a store") return Gateway.open({ ...parts, store: createMemoryStore() });
  return InTurn.open(new MemoryLog({ now: () => parts.clock.now() }), parts);
}

/** A gateway after its first day, on which each cluster of the world pushed, and the hostile one an empty snapshot if it is known. */
export async function openWorld(
  world: readonly ClusterSnapshot[],
  hostileIsKnown: boolean,
  keeper: Keeper = "a store",
) {
  const clock = keeper === "a store" ? new FakeClock(BEGAN) : new RunningClock(BEGAN);
  let compiled: ZoneSource | undefined;
  const gateway = await openGateway(keeper, {
    clock,
    stages: {
      merging: { grants: new Map([["north", "*" as const]]) },
      createCompiler() {
        const compiler = realCompiler({
          ...{ serial: 1, ttl: 30 },
          federations: [{ name: "fed", zone: "federation" }],
        });
        return {
          compile(source, ...given) {
            compiled = source;
            return compiler.compile(source, ...given);
          },
        };
      },
      resolve: (query, context) => resolve(query, { ...context, rotation: 0, outside: "refuse" }),
      notReady,
    },
    onEvent: (event) => {
      if (event.event === "compile-failed") throw event.error;
    },
    limits: { lease: { ...DEFAULT_GATEWAY_LIMITS.lease, maximumSeconds: LEASE } },
  });
  const push = async (snapshot: ClusterSnapshot, lease: number) => {
    const pushing = putSnapshot(gateway, snapshot, { leaseSeconds: lease });
    await clock.advance(0);
    await pushing;
  };
  for (const snapshot of world) await push(snapshot, LEASE);
  if (hostileIsKnown)
    await push(
      { ...world[0]!, clusterId: HOSTILE, namespaces: {}, exports: {}, imports: {}, services: {}, pods: {} },
      LEASE,
    );
  await clock.advance(FOUNDING + 1);
  return {
    ...{ gateway, clock, push },
    /** What the newest generation was compiled from. */
    services: () => [...(compiled?.serviceKeys() ?? [])].map((key) => compiled!.service(key)!),
  };
}

export type World = Awaited<ReturnType<typeof openWorld>>;
