import fc from "fast-check";
import { expect, it } from "vitest";
import { Replicas, readerOf, rowsOf } from "./replicas.ts";
import { MEMBERS, SCOPE, step, take } from "./steps.ts";

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
