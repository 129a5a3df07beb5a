import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ClustersetService } from "../../src/merge/clusterset.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { arbitraryClusterId, arbitraryWorld } from "../worlds/arbitrary.ts";
import { mergeClusterset } from "./merged.ts";

const without = (world: readonly ClusterSnapshot[], clusterId: string) =>
  world.filter((one) => one.clusterId !== clusterId);

const addressesOf = ({ outside, byCluster }: ClustersetService) => [outside, ...byCluster.values()];

describe("mergeClusterset", () => {
  it("does not depend on the order of clusters, nor on that of entries", () => {
    const reversed = <T>(entries: Record<string, T>) => Object.fromEntries(Object.entries(entries).reverse());
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const other = world
          .map((one) => ({ ...one, exports: reversed(one.exports), imports: reversed(one.imports) }))
          .reverse();
        expect(mergeClusterset(other)).toEqual(mergeClusterset(world));
      }),
    );
  });

  it("a cluster that left leaves nothing behind", () => {
    fc.assert(
      fc.property(arbitraryWorld, arbitraryClusterId, (world, leaving) => {
        const after = mergeClusterset(without(world, leaving));
        for (const service of after.services) {
          expect(service.reportedBy).not.toContain(leaving);
          expect(service.exporters).not.toContain(leaving);
          expect(service.endpoints.map(({ reportedBy }) => reportedBy)).not.toContain(leaving);
          for (const { reportedBy } of addressesOf(service)) expect(reportedBy).not.toContain(leaving);
        }
      }),
    );
  });

  it("a service is there exactly while a cluster that has its namespace exports or imports it", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const expected = world.flatMap(({ namespaces, exports, imports }) =>
          [
            ...Object.keys(exports),
            ...Object.keys(imports).filter((key) => imports[key]!.managed !== true),
          ].filter((key) => Object.hasOwn(namespaces, key.split("/")[0]!)),
        );
        const found = mergeClusterset(world).services.map(({ namespace, name }) => `${namespace}/${name}`);
        expect([...found].sort()).toEqual([...new Set(expected)].sort());
      }),
    );
  });

  it("no port name and no protocol with number twice; nothing declared is lost without a conflict or finding", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const { services, conflicts, findings } = mergeClusterset(world);
        for (const { namespace, name, ports, exporters, reportedBy } of services) {
          const names = ports.map((port) => port.name);
          const numbers = ports.map(({ protocol, port }) => `${port}/${protocol}`);
          expect(new Set(names).size).toBe(names.length);
          expect(new Set(numbers).size).toBe(numbers.length);
          for (const clusterId of reportedBy) {
            const one = world.find((snapshot) => snapshot.clusterId === clusterId)!;
            const declared = (exporters.length > 0 ? one.exports : one.imports)[`${namespace}/${name}`]!
              .ports;
            const lost = declared.filter(
              (port) =>
                !ports.some(
                  (kept) =>
                    kept.name === port.name &&
                    kept.port === port.port &&
                    kept.protocol === (port.protocol || "TCP").toUpperCase() &&
                    kept.appProtocol === port.appProtocol,
                ),
            );
            const explained =
              conflicts.some(
                (conflict) =>
                  conflict.namespace === namespace &&
                  conflict.name === name &&
                  conflict.property === "port" &&
                  conflict.disagree.includes(clusterId),
              ) ||
              findings.some(
                (one) =>
                  one.reason === "DuplicatePort" &&
                  one.clusterId === clusterId &&
                  one.namespace === namespace &&
                  one.name === name,
              );
            if (lost.length > 0) expect(explained).toBe(true);
          }
        }
      }),
    );
  });

  it("conflicts name a winner that does not disagree, out of as many clusters as take part", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const { services, conflicts } = mergeClusterset(world);
        for (const { namespace, name, winner, disagree, total } of conflicts) {
          const { reportedBy } = services.find((one) => one.namespace === namespace && one.name === name)!;
          expect(total).toBe(reportedBy.length);
          expect(reportedBy).toEqual(expect.arrayContaining([winner, ...disagree]));
          expect(disagree).not.toContain(winner);
          expect(new Set(disagree).size).toBe(disagree.length);
        }
      }),
    );
  });

  it("every endpoint is reported by a live cluster, once, and ClusterSetIP services have none", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const live = world.map(({ clusterId }) => clusterId);
        for (const { type, endpoints } of mergeClusterset(world).services) {
          if (type === "ClusterSetIP") expect(endpoints).toEqual([]);
          const identities = endpoints.map(({ clusterId, address, hostname, ports }) =>
            JSON.stringify([clusterId.toLowerCase(), address, hostname, ports]),
          );
          expect(new Set(identities).size).toBe(identities.length);
          for (const { reportedBy } of endpoints) expect(live).toContain(reportedBy);
        }
      }),
    );
  });
});
