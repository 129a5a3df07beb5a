import fc from "fast-check";
import { expect, it } from "vitest";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { wholeStage } from "../../../src/gateway/pushing/whole-state.ts";
import { EVERYTHING } from "../../../src/merge/visibility/visibility.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { expectMet } from "../../property-share.ts";
import { readLines, stageLines } from "../../snapshot/changes.ts";
import type { TakenDraft } from "../../store/shared/held-state.ts";
import { realStages } from "../real-stages.ts";
import { Replicas, RunningClock, sharedStatus } from "./replicas.ts";
import { MEMBERS, SCOPE, step, take } from "./steps.ts";

/** Has a gateway with a store of its own take what a log took. @returns false where its lease had ended already */
async function replay(gateway: Gateway<Generation>, draft: TakenDraft): Promise<boolean> {
  const { clusterId, kind, lines, meta } = draft;
  const terms = meta && { leaseSeconds: (meta.expiresAt - meta.renewedAt) / 1000 };
  const held = gateway.status().clusters.find((one) => one.live && one.clusterId === clusterId);
  if (kind === "left") await gateway.leave(clusterId);
  if (kind === "snapshot") {
    const stage = stageLines("whole", gateway.held(clusterId), readLines(lines));
    await gateway.replace(clusterId, wholeStage(stage), terms);
  }
  if (kind !== "patch" && kind !== "lease") return true;
  if (held === undefined) return false;
  if (kind === "lease") await gateway.renew(clusterId, held.generation, terms);
  else {
    const stage = stageLines("changes", gateway.held(clusterId, held.generation), readLines(lines));
    const changes = { delta: drain(stage.finish()), lines: () => stage.lines() };
    await gateway.change(clusterId, held.generation, changes, terms);
  }
  return true;
}

/** What does not depend on when a cluster pushed. */
function answered(gateway: Gateway<Generation>, scope: typeof SCOPE | undefined, now: number) {
  const { live, position: _, ...status } = sharedStatus(gateway, scope);
  const { generation } = gateway.within(scope ?? EVERYTHING).current(now) ?? {};
  const withoutReverse = {
    hashes: [generation?.frame.hash, generation?.stems.hash, generation?.names.hash],
    findings: status.findings.filter(({ reason }) => reason !== "ReverseNameTaken"),
  };
  return {
    all: { ...status, live: live.map(({ generation: __, ...cluster }) => cluster) },
    withoutReverse: { ...status, ...withoutReverse, rootHash: undefined },
  };
}

it("whatever is pushed to whichever gateway, and however gateways crash and are cut off, they answer as one gateway that takes what the log took, in its order", async () => {
  let replayed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        step.filter((one) => one.do !== "lose"),
        { minLength: 5, maxLength: 30 },
      ),
      async (steps) => {
        const replicas = await Replicas.start(MEMBERS, [SCOPE]);
        const clock = new RunningClock(replicas.clock.now());
        const alone = await Gateway.open({
          ...{ store: createMemoryStore(), stages: realStages(), clock, scopes: [SCOPE], onEvent: () => {} },
        });
        try {
          const pending: Promise<void>[] = [];
          for (const one of steps) await take(replicas, one, pending);
          await replicas.rejoin(pending);
          for (const taken of replicas.log.taken) {
            await clock.advance(taken.at - clock.now());
            // A gateway of its own ends a lease that others held while they had no log.
            if ("draft" in taken && !(await replay(alone, taken.draft))) return;
          }
          await clock.advance(replicas.clock.now() - clock.now());
          await new Promise<void>((resolve) => setImmediate(resolve));
          replayed++;
          // Who comes first of clusters that report an address between two compilations depends on these. The log decides it once; that all its gateways follow is another property.
          const isDecided = replicas.log.taken.some((taken) => "orders" in taken);
          const part = isDecided ? "withoutReverse" : "all";
          const now = clock.now();
          for (const { gateway } of replicas.members)
            for (const scope of [undefined, SCOPE])
              expect(answered(gateway, scope, now)[part]).toEqual(answered(alone, scope, now)[part]);
        } finally {
          await replicas.close();
          await alone.close();
        }
      },
    ),
    { numRuns: 60 },
  );
  expectMet(replayed, 30);
});
