import fc from "fast-check";
import { expect, it } from "vitest";
import type { Visibility } from "../../src/merge/visibility.ts";
import { snapshotOf } from "../database/pushing.ts";
import { patchCluster, putSnapshot } from "../gateway/open-gateway.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitraryStep } from "../worlds/steps.ts";
import { Replicas, readerOf, rowsOf } from "./replicas.ts";

const MEMBERS = 3;

/** A scope beside everything. */
const SCOPE: Visibility = { clusters: ["east", "west"] };

/** What happens to a gateway, its connection or the log. */
const HAPPENS = ["disconnect", "reconnect", "hold", "release", "empty", "trim", "settle"] as const;

/** What a cluster does to a gateway, or what happens to gateways, their connections, the log, or time. */
const step = fc.tuple(
  fc.nat({ max: MEMBERS - 1 }),
  fc.oneof(
    { weight: 13, arbitrary: arbitraryStep(["east", "north", "west"], 1, 30, 90) },
    { weight: 7, arbitrary: fc.record({ do: fc.constantFrom(...HAPPENS) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("lose" as const), entries: fc.integer({ min: 1, max: 4 }) }),
    },
  ),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

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
async function take(replicas: Replicas, [at, one]: Step, pending: Promise<void>[]): Promise<void> {
  const member = replicas.members[at]!;
  const { gateway } = member;
  const generationOf = (id: string) => gateway.state.live.get(id)?.generation;
  if (one.do === "trim") return replicas.log.trim();
  if (one.do === "lose") return replicas.log.loseLast(one.entries);
  if (one.do === "wait") return replicas.clock.advance(one.seconds * 1000);
  if (one.do === "settle") return replicas.settled();
  if (one.do === "restart" || one.do === "empty") return replicas.restart(at, one.do === "restart");
  if (one.do === "put") pending.push(attempt(async () => putSnapshot(gateway, one.to)));
  else if (one.do === "patch") {
    const { clusterId } = one.to;
    const generation = generationOf(clusterId);
    if (generation === undefined) return;
    const patch = diffSnapshots(snapshotOf(readerOf(member), clusterId), one.to) ?? {};
    pending.push(attempt(async () => patchCluster(gateway, clusterId, generation, patch)));
  } else if (one.do === "renew") {
    const generation = generationOf(one.cluster);
    if (generation !== undefined) pending.push(attempt(() => gateway.renew(one.cluster, generation)));
  } else if (one.do === "leave") pending.push(attempt(() => gateway.leave(one.cluster)));
  else member.log[one.do]();
}

it("whatever is pushed to whichever gateway, and whatever happens to gateways, their connections and the log, all that follow it to its end have equal rows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const replicas = await Replicas.start(MEMBERS, [SCOPE]);
      const pending: Promise<void>[] = [];
      try {
        for (const one of steps) await take(replicas, one, pending);
        await replicas.rejoin(pending);
        // One that has nothing loads the same.
        await replicas.add();
        await replicas.settled();
        const [first, ...others] = replicas.members.map(rowsOf);
        for (const other of others) expect(other).toEqual(first);
        expect(replicas.members[0]!.replica.position).toBe(replicas.log.position);
        for (const member of replicas.members) {
          const reader = readerOf(member);
          for (const row of reader.clusters()) expect(reader.isWhole(row)).toBe(true);
          const [status, ...same] = [member, replicas.members[0]!].map(({ gateway }) => answered(gateway));
          expect(same).toEqual([status]);
          expect(member.events.filter(({ event }) => event === "log-damaged")).toEqual([]);
        }
      } finally {
        await replicas.close();
      }
    }),
    { numRuns: 100 },
  );
});

/** Which clusters and generations a gateway answers from, in each scope. */
function answered(gateway: Replicas["members"][0]["gateway"]): object {
  return [gateway.everything, gateway.within(SCOPE)].map((scope) => {
    const { ready, clusters, stateHash } = scope.status();
    return {
      ready,
      stateHash,
      clusters: clusters.map(({ clusterId, generation, live }) => [clusterId, generation, live]),
    };
  });
}
