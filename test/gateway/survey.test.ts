import fc from "fast-check";
import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import { createEntryFilter } from "../../src/merge/visibility/visible.ts";
import { DatabaseEntries } from "../../src/names/database-entries.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { surveyOf } from "../../src/names/survey.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { NOON, patchLines, stage, wholeLines } from "../database/pushing.ts";
import { expectMet } from "../property-share.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { FakeClock } from "./fake-clock.ts";
import { memoryDatabase, openKeyed } from "./open-keyed.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [{}, { clusters: ["east", "west"] }, { namespaces: ["shop"] }];
const NAMES = {
  zones: {
    ttl: 30,
    federations: [{ name: "fed", zone: "federation.", domain: "federation.example.com." }],
  },
  merging: {
    pins: {
      exports: new Map([["north", ["shop/web"]]]),
      owners: [{ service: "shop/*", owner: "west" }],
    },
    grants: new Map([["east", new Set(["west"])]]),
  },
};

const cluster = fc.constantFrom(...CLUSTERS);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("put", "patch"), to: arbitrarySnapshot(cluster) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave"), cluster }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), seconds: fc.constantFrom(1, 45, 400) }) },
);

it("after any sequence of changes a survey has the conflicts, findings and services that a world has which is surveyed as a whole", async () => {
  const seen = { services: 0, conflicts: 0, findings: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.boolean()), { minLength: 3, maxLength: 12 }),
      async (steps) => {
        const clock = new FakeClock(NOON);
        const database = memoryDatabase();
        const reader = new Reader(database, () => expect.unreachable());
        const gateway = openKeyed({ clock, database, reader, names: NAMES, scopes: SCOPES });
        const held = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
        const settled = async <Result>(promise: Promise<Result>) => {
          await clock.advance(0);
          return promise;
        };
        for (const [one, isLookedAt] of steps) {
          if ("seconds" in one) await clock.advance(one.seconds * 1000);
          else if ("cluster" in one) {
            await gateway.leave(one.cluster);
            held.delete(one.cluster);
          } else {
            const { clusterId } = one.to;
            const known = gateway.state.live.has(clusterId) ? held.get(clusterId) : undefined;
            const patch = known && one.do === "patch" ? diffSnapshots(known.snapshot, one.to) : undefined;
            const staged =
              patch === undefined
                ? stage(reader, clusterId, "whole", wholeLines(one.to))
                : stage(reader, clusterId, "changes", patchLines(clusterId, patch));
            const { acknowledgement } = await gateway.push(staged, {}, {}, patch && known!.generation);
            held.set(clusterId, { snapshot: one.to, generation: acknowledgement.generation });
          }
          for (const scope of isLookedAt ? SCOPES : []) {
            const within = gateway.within(scope);
            const current = within.current();
            const { conflicts, findings, services } = (await settled(within.survey()))!;
            if (current === undefined) continue;
            const live = [...gateway.state.live.keys()];
            const entries = new DatabaseEntries(reader, live, createEntryFilter(scope));
            const whole = surveyOf(new KeyWorld(entries, NAMES.zones, NAMES.merging, new Map()));
            expect({ scope, conflicts, findings, services }).toEqual({
              scope,
              conflicts: whole.conflicts,
              findings: whole.findings,
              services: whole.services.length,
            });
            seen.services += services;
            seen.conflicts += conflicts.length;
            seen.findings += findings.length;
          }
        }
        database.close();
      },
    ),
    { numRuns: 60 },
  );
  for (const count of Object.values(seen)) expectMet(count, 50);
});
