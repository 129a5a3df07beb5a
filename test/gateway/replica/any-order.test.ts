import fc from "fast-check";
import { expect, it } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { putSnapshot } from "../pushes.ts";
import { Replicas, sharedStatus } from "./replicas.ts";
import { CLUSTERS, MEMBERS, SCOPE, step, take } from "./steps.ts";

it("whatever is pushed to whichever gateway, and whatever happens to gateways and their connections, all that follow the log to its end answer alike", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const replicas = await Replicas.start(MEMBERS, [SCOPE]);
      const pending: Promise<void>[] = [];
      try {
        for (const one of steps) await take(replicas, one, pending);
        await replicas.rejoin(pending);
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
        for (const { events } of replicas.members)
          expect(events.filter(({ event }) => event === "compile-failed" || event === "log-damaged")).toEqual(
            [],
          );
      } finally {
        await replicas.close();
      }
    }),
    { numRuns: 100 },
  );
});
