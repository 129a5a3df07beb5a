import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { SnapshotEntries } from "../../src/names/snapshot-entries.ts";
import { type ResolveContext, resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { listRecords } from "../../src/zone/listing.ts";
import { localityView } from "../../src/zone/locality.ts";
import type { ZoneOptions } from "../../src/zone/options.ts";
import { expectMet } from "../property-share.ts";
import { decode, encodeQuery, leasesUntil } from "../resolve/ask.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { interestingNames } from "./interesting-names.ts";

const PLACES = [{ region: "eu" }, { region: "eu", zone: "zone-a" }, { region: "us", zone: "zone-b" }];
const OPTIONS: Partial<ZoneOptions> = {
  zones: ["clusterset.local.", "alias.example."],
  federations: [
    { name: "fed", zone: "federation.", domain: "federation.example.com." },
    { name: "other", zone: "federation." },
  ],
  localities: PLACES,
  nameServerAddresses: ["192.0.2.53"],
  hosts: [
    { name: "doh.clusterset.local", addresses: ["192.0.2.1"] },
    { name: "web.shop.svc.clusterset.local", addresses: ["192.0.2.2"] },
    { name: "clusterset.local", addresses: ["192.0.2.3", "2001:db8::3"] },
  ],
};
const TYPES = ["A", "AAAA", "SRV", "CNAME", "TXT", "ANY", "SOA", "NS", "PTR"];

function worldOf(snapshots: readonly ClusterSnapshot[], options: Partial<ZoneOptions> = OPTIONS): KeyWorld {
  return new KeyWorld(new SnapshotEntries(snapshots), options, {}, new Map());
}

describe("a world of keys that are compiled when a query needs them", () => {
  it("answers byte for byte as a whole generation does, in each zone and view", () => {
    let [worlds, compared] = [0, 0];
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(7), fc.boolean(), (snapshots, rotation, hasHosts) => {
        worlds++;
        const options = hasHosts ? OPTIONS : { ...OPTIONS, hosts: [] };
        const clusterset = mergeClusterset(snapshots, {}, { withAbsent: true });
        const { generation } = compileGeneration(clusterset, options);
        const world = worldOf(snapshots, options);
        const context: Omit<ResolveContext, "generation" | "view"> = {
          leases: leasesUntil(() => Number.POSITIVE_INFINITY),
          now: 0,
          rotation,
          outside: "refuse",
        };
        const views = [undefined, "nobody", ...clusterset.clusters.map(({ clusterId }) => clusterId)];
        for (const view of [...views, ...PLACES.map(localityView)]) {
          const names = new Set<string>();
          for (const { name } of generation.frame.zones) {
            names.add(name);
            try {
              for (const record of listRecords(generation, {
                zone: name,
                view: view === "nobody" ? undefined : view,
              }))
                names.add(record.name);
            } catch {
              // The zone is not one of this view.
            }
          }
          for (const name of interestingNames(names))
            for (const type of TYPES) {
              const query = encodeQuery(name, type);
              const before = resolve(query, { ...context, view, generation })!;
              const now = resolve(query, { ...context, view, generation: world })!;
              compared++;
              if (Buffer.compare(before.bytes, now.bytes) !== 0)
                expect({ view, name, type, ...decode(now.bytes) }).toEqual({
                  view,
                  name,
                  type,
                  ...decode(before.bytes),
                });
              expect({ ...now, bytes: 0 }).toEqual({ ...before, bytes: 0 });
            }
        }
      }),
      { numRuns: 25 },
    );
    expectMet(compared, 1000 * worlds);
  });
});
