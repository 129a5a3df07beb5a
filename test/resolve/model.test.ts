import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../merge/merged.ts";
import { seenFrom } from "../merge/seen-from.ts";
import { interestingNames } from "../names/interesting-names.ts";
import { expectMet } from "../property-share.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { ask, compileWorld } from "./ask.ts";
import { modelAnswer, modelRecords } from "./model.ts";

const ZONE = "clusterset.local";
const TYPES = ["A", "AAAA", "SRV", "TXT", "MX"];

/** Names for queries: all that exist, names above and below them, and near misses. */
const namesAround = (names: readonly string[]) =>
  interestingNames([...names, `svc.${ZONE}`, `ns.dns.${ZONE}`]).filter((name) =>
    /clusterset\.local$/i.test(name),
  );

describe("resolve agrees with the slow model", () => {
  it("for random worlds, views, names and types", () => {
    let [worlds, compared] = [0, 0];
    fc.assert(
      fc.property(arbitraryWorld, fc.nat(), (snapshots, seed) => {
        worlds++;
        const clusterset = mergeClusterset(snapshots);
        const view = [undefined, ...clusterset.clusters.map(({ clusterId }) => clusterId)][
          seed % (clusterset.clusters.length + 1)
        ];
        const context = { ...compileWorld(snapshots), view, rotation: seed };
        const all = modelRecords(clusterset, ZONE, view);
        // A namespace with a service that is kept from the view is no secret: its name exists.
        const namespaceNames = all.flatMap(({ namespace }) =>
          namespace === undefined
            ? []
            : [{ name: `${namespace}.svc.${ZONE}`, type: "none", rdata: "", namespace }],
        );
        const seen = modelRecords(mergeClusterset(seenFrom(view, snapshots)), ZONE, view);
        const records = [...seen, ...namespaceNames];
        const namespaces = clusterset.clusters.find(({ clusterId }) => clusterId === view)?.namespaces;
        for (const name of namesAround([...seen, ...all].map((record) => record.name))) {
          for (const type of TYPES) {
            const given = ask(context, name, type);
            const answer = given.answer
              .map((record) => record.split(" ").slice(3).join(" ").toLowerCase())
              .map((rdata) =>
                rdata.includes(" ") && type === "SRV" ? rdata.split(" ").slice(2).join(" ") : rdata,
              )
              .sort();
            const model = modelAnswer(records, ZONE, namespaces, name, type);
            expect({ name, type, rcode: given.rcode, answer }).toEqual({ name, type, ...model });
            compared++;
          }
        }
      }),
      { numRuns: 150 },
    );
    expectMet(compared, 100 * worlds);
  });

  it("adds exactly the addresses of its targets to an SRV answer (RFC 2782)", () => {
    fc.assert(
      fc.property(arbitraryWorld, (snapshots) => {
        const context = compileWorld(snapshots);
        const names = modelRecords(mergeClusterset(snapshots), ZONE, undefined).map(({ name }) => name);
        for (const name of new Set(names)) {
          const { answer, additional } = ask(context, name, "SRV");
          const targets = new Set(answer.flatMap((record) => record.split(" ")[6]?.toLowerCase() ?? []));
          const expected = [...targets].flatMap((target) => [
            ...ask(context, target, "A").answer,
            ...ask(context, target, "AAAA").answer,
          ]);
          expect(additional.map((record) => record.toLowerCase()).sort()).toEqual(
            expected.map((record) => record.toLowerCase()).sort(),
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});
