import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { localityView } from "../../src/zone/world.ts";
import { listedObjects } from "../e2e/coredns/cluster-local/fixture.ts";
import { localQuestions } from "../e2e/coredns/cluster-local/questions.ts";
import { fixtureOf } from "../e2e/coredns/fixture.ts";
import { localZone, questionsFor } from "../e2e/coredns/questions.ts";
import { objectsOf } from "../e2e/coredns/worlds/services.ts";
import { type KubeObject, namespace } from "../e2e/servers/kubernetes/objects.ts";
import { mergeClusterset } from "../merge/merged.ts";
import { seenFrom } from "../merge/seen-from.ts";
import { expectMet } from "../property-share.ts";
import { modelRecords } from "../resolve/model.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { type ExplainedWorld, explainedWorld } from "./explained-world.ts";

const TTL = 30;
const SERVICE_TYPES = new Set([1, 28, 33]);
/** Seconds until the lease of a cluster expires: shorter than the TTL for some. */
const LEASES: Readonly<Record<string, number>> = { east: 300, north: 20, "south.eu": 7, west: 12 };
const leaseOf = (clusterId: string) => (LEASES[clusterId] ?? 300) * 1000;

/** The records of an answer as they follow from its explanation: each TTL is bounded by the leases. */
function recomputed({ explanation }: ReturnType<ExplainedWorld["ask"]>): string[] {
  const left = Math.min(...explanation.leases.map(({ expiresAt }) => expiresAt! / 1000));
  return explanation.records
    .map(({ name, type, data }) => `${name} ${Math.min(TTL, left)} ${type} ${data}`.toLowerCase())
    .sort();
}

function expectRecomputed(world: ExplainedWorld, name: string, type: string, view?: string): number {
  const asked = world.ask(name, type, view);
  const { json, explanation } = asked;
  const answer = (json.Answer ?? []).map((record) =>
    `${record.name} ${record.TTL} ${record.type} ${record.data}`.toLowerCase(),
  );
  const isLeased = (json.Answer ?? []).every((record) => SERVICE_TYPES.has(record.type));
  const without = (records: readonly string[]) =>
    isLeased ? records : records.map((record) => record.replace(/ \d+ /, " "));
  const question = { name, type, view };
  expect({ question, answer: without(recomputed(asked)) }).toEqual({
    question,
    answer: without(answer.sort()),
  });
  expect(answer.length > 0).toBe(explanation.code === "ANSWERED");
  if (isLeased)
    for (const { from } of explanation.records)
      for (const clusterId of from)
        expect(explanation.leases.map((lease) => lease.clusterId)).toContain(clusterId);
  return isLeased ? answer.length : 0;
}

/** The world of the comparison with CoreDNS: a cluster as its worker reads it. */
function importing(cluster: "east" | "west"): ClusterSnapshot {
  const fixture = fixtureOf(cluster);
  const objects = [
    ...fixture.namespaces.map((name) => namespace(name)),
    ...fixture.services.flatMap(objectsOf),
    ...fixture.others,
  ];
  return extractSnapshot(listed(objects), { clusterId: cluster });
}

/** Objects as an API server lists them. */
function listed(objects: readonly KubeObject[]): KubernetesObject[] {
  return objects.map((object) => ({
    ...object,
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z", ...object.metadata },
  }));
}

describe("the records of an explanation are the answer", () => {
  it("to every question of the comparison with CoreDNS", () => {
    const world = explainedWorld([importing("east"), importing("west")], { leaseOf, zone: { ttl: TTL } });
    const questions = questionsFor(fixtureOf("east"));
    let records = 0;
    for (const { name, type } of questions)
      for (const view of [undefined, "west"]) records += expectRecomputed(world, name, type, view);
    expect(questions.length).toBeGreaterThan(3000);
    expect(records).toBeGreaterThan(3000);
  });

  it.each(["disabled", "insecure", "verified"] as const)(
    "to every question of the comparison with CoreDNS about a cluster's own zone, pods %s",
    (pods) => {
      const own = { clusterId: "east", clusterZone: { name: localZone, pods } };
      const snapshots = [extractSnapshot(listed(listedObjects()), own), importing("west")];
      const world = explainedWorld(snapshots, { leaseOf, zone: { ttl: TTL } });
      const questions = localQuestions();
      let records = 0;
      for (const { name, type } of questions)
        for (const view of [undefined, "east", "west"]) records += expectRecomputed(world, name, type, view);
      expect(questions.length).toBeGreaterThan(3000);
      expect(records).toBeGreaterThan(800);
    },
  );

  it("in the random worlds of the slow model, in every view", () => {
    let records = 0;
    fc.assert(
      fc.property(arbitraryWorld, (snapshots) => {
        const world = explainedWorld(snapshots, { leaseOf, zone: { ttl: TTL } });
        const clusterset = mergeClusterset(snapshots);
        const views = [undefined, ...clusterset.clusters.map(({ clusterId }) => clusterId)];
        for (const view of views) {
          const seen = [undefined, view].flatMap((one) =>
            modelRecords(mergeClusterset(seenFrom(one, snapshots)), "clusterset.local", view),
          );
          const names = seen.map(({ name }) => name);
          for (const name of new Set(names.flatMap((one) => [one, `nothing.${one}`, one.toUpperCase()])))
            if (name.length <= 253)
              for (const type of ["A", "AAAA", "SRV", "TXT", "ANY"])
                records += expectRecomputed(world, name, type, view);
        }
      }),
      { numRuns: 30 },
    );
    expectMet(records, 1000);
  });

  it("in federation zones and in zones of clusters", () => {
    let records = 0;
    const place = { region: "eu", zone: "zone-a" };
    fc.assert(
      fc.property(arbitraryWorld, (snapshots) => {
        const zone = {
          ttl: TTL,
          localities: [place],
          federations: [{ name: "fed", zone: "federation", domain: "fed.example" }],
        };
        const world = explainedWorld(snapshots, { leaseOf, zone });
        const keys = new Set(
          snapshots.flatMap(({ exports, services }) => Object.keys({ ...exports, ...services })),
        );
        for (const key of keys) {
          const [namespace, name] = key.split("/");
          const names = [
            `${name}.${namespace}.fed.svc.federation`,
            `${name}.${namespace}.fed.svc.fed.example`,
            `${name}.${namespace}.svc.cluster.local`,
          ];
          for (const asked of names.filter((one) => one.split(".").every((label) => label.length <= 63)))
            for (const type of ["A", "SRV", "CNAME"])
              for (const view of [undefined, "east", localityView(place)])
                records += expectRecomputed(world, asked, type, view);
        }
      }),
      { numRuns: 30 },
    );
    expectMet(records, 50);
  });
});
