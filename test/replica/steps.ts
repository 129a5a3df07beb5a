import fc from "fast-check";
import type { Visibility } from "../../src/merge/visibility.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { snapshotOf } from "../database/pushing.ts";
import { patchCluster, putSnapshot } from "../gateway/open-gateway.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitrarySnapshot } from "../worlds/arbitrary.ts";
import type { Member, Replicas } from "./replicas.ts";
import { readerOf } from "./replicas.ts";

const CLUSTERS = ["east", "north", "west"];
export const MEMBERS = 3;

/** A scope beside everything. */
export const SCOPE: Visibility = { clusters: ["east", "west"] };

/** What happens to gateways, their connections, the log, or time. */
export type Step =
  | { readonly do: "put" | "patch"; readonly at: number; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly at: number; readonly cluster: string }
  | { readonly do: "cut" | "join" | "hold" | "release"; readonly at: number }
  | { readonly do: "restart"; readonly at: number; readonly keeps: boolean }
  | { readonly do: "trim" }
  | { readonly do: "lose"; readonly entries: number }
  | { readonly do: "pass"; readonly milliseconds: number }
  | { readonly do: "settle" };

const at = fc.nat({ max: MEMBERS - 1 });
const cluster = fc.constantFrom(...CLUSTERS);
const connection = fc.constantFrom("cut" as const, "join" as const, "hold" as const, "release" as const);
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("put" as const, "patch" as const),
      at,
      to: cluster.chain((id) => arbitrarySnapshot(fc.constant(id))),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("renew" as const, "leave" as const), at, cluster }),
  },
  { weight: 4, arbitrary: fc.record({ do: connection, at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), at, keeps: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "trim" }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("lose" as const), entries: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      milliseconds: fc.constantFrom(1000, 30_000, 90_000),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ do: "settle" }) },
);

/** Refusals that a worker answers by pushing again, or in full. */
const EXPECTED = new Set(["GENERATION_MISMATCH", "STORE_FAILED", "STORE_CLOSED"]);

async function attempt(push: () => Promise<unknown>): Promise<void> {
  try {
    await push();
  } catch (error) {
    if (!EXPECTED.has((error as { code: string }).code)) throw error;
  }
}

/** Carries a step out. @param pending gets the requests that are not answered yet */
export async function take(replicas: Replicas, one: Step, pending: Promise<void>[]): Promise<void> {
  const member = "at" in one ? replicas.members[one.at]! : undefined;
  switch (one.do) {
    case "put":
      pending.push(attempt(async () => putSnapshot(member!.gateway, one.to)));
      return;
    case "patch": {
      const { clusterId } = one.to;
      const generation = generationOf(member!, clusterId);
      if (generation === undefined) return;
      const patch = diffSnapshots(snapshotOf(readerOf(member!), clusterId), one.to) ?? {};
      pending.push(attempt(async () => patchCluster(member!.gateway, clusterId, generation, patch)));
      return;
    }
    case "renew": {
      const generation = generationOf(member!, one.cluster);
      if (generation !== undefined)
        pending.push(attempt(() => member!.gateway.renew(one.cluster, generation)));
      return;
    }
    case "leave":
      pending.push(attempt(() => member!.gateway.leave(one.cluster)));
      return;
    case "cut":
      return member!.log.disconnect();
    case "join":
      return member!.log.reconnect();
    case "hold":
      return member!.log.hold();
    case "release":
      return member!.log.release();
    case "restart":
      return replicas.restart(one.at, one.keeps);
    case "trim":
      return replicas.log.trim();
    case "lose":
      return replicas.log.loseLast(one.entries);
    case "pass":
      return replicas.clock.advance(one.milliseconds);
    default:
      return replicas.settled();
  }
}

function generationOf({ gateway }: Member, clusterId: string): number | undefined {
  return gateway.everything.status().clusters.find((one) => one.live && one.clusterId === clusterId)
    ?.generation;
}
