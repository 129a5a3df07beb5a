import fc from "fast-check";
import { expect, it } from "vitest";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { diffSnapshots } from "../../snapshot/diff-snapshots.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { heldOf, patchCluster, putSnapshot } from "../pushes.ts";
import { type Member, Replicas, sharedStatus } from "./replicas.ts";

const CLUSTERS = ["east", "north", "west"];
const MEMBERS = 3;
const SCOPE: Visibility = { clusters: ["east", "west"] };

type Step =
  | { readonly do: "put" | "patch"; readonly at: number; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly at: number; readonly cluster: string }
  | { readonly do: "cut" | "join" | "hold" | "release" | "restart"; readonly at: number }
  | { readonly do: "trim" }
  | { readonly do: "lose"; readonly entries: number }
  | { readonly do: "pass"; readonly milliseconds: number }
  | { readonly do: "settle" };

const at = fc.nat({ max: MEMBERS - 1 });
const cluster = fc.constantFrom(...CLUSTERS);
const step: fc.Arbitrary<Step> = fc.oneof(
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
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "cut" as const,
        "join" as const,
        "hold" as const,
        "release" as const,
        "restart" as const,
      ),
      at,
    }),
  },
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

async function take(replicas: Replicas, one: Step, pending: Promise<void>[]): Promise<void> {
  const member = "at" in one ? replicas.members[one.at]! : undefined;
  switch (one.do) {
    case "put":
      pending.push(attempt(() => putSnapshot(member!.gateway, one.to)));
      return;
    case "patch": {
      const { clusterId } = one.to;
      const generation = generationOf(member!, clusterId);
      if (generation === undefined) return;
      const patch = diffSnapshots(heldOf(member!.gateway, clusterId), one.to) ?? {};
      pending.push(attempt(() => patchCluster(member!.gateway, clusterId, generation, patch)));
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
      await replicas.restart(one.at);
      return;
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
  return gateway.status().clusters.find((one) => one.live && one.clusterId === clusterId)?.generation;
}

it("whatever is pushed to whichever gateway, and whatever happens to gateways and their connections, all that follow the log to its end answer alike", {
  timeout: 300_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const replicas = await Replicas.start(MEMBERS, [SCOPE]);
      const pending: Promise<void>[] = [];
      try {
        for (const one of steps) await take(replicas, one, pending);
        for (const { log } of replicas.members) {
          log.release();
          log.reconnect();
        }
        // What waits for an entry that nobody applies gives up after a while.
        await replicas.settled();
        await replicas.pass(12_000);
        await Promise.all(pending);
        await replicas.settled();
        // What an engine lost is whole again when every worker has pushed in full, or has left.
        if (steps.some((one) => one.do === "lose"))
          for (const [index, clusterId] of CLUSTERS.entries()) {
            const last = steps.findLast((one) => "to" in one && one.to.clusterId === clusterId);
            const { gateway } = replicas.members[index % MEMBERS]!;
            const pushed =
              last === undefined
                ? gateway.leave(clusterId)
                : putSnapshot(gateway, (last as { to: ClusterSnapshot }).to);
            await replicas.settled();
            await replicas.pass(12_000);
            await pushed;
          }
        await replicas.add();
        await replicas.settled();
        const [first, ...others] = replicas.members.map(({ gateway }) => [
          sharedStatus(gateway),
          sharedStatus(gateway, SCOPE),
        ]);
        for (const other of others) expect(other).toEqual(first);
        expect(first![0]!.position).toBe(replicas.log.position);
      } finally {
        await replicas.close();
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 100), endOnFailure: process.env.RUNS !== undefined },
  );
});
