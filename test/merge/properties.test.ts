import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { mergeClusterset } from "./merged.ts";

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
          expect([new Set(names).size, new Set(numbers).size]).toEqual([names.length, numbers.length]);
          const isOfService = (one: { namespace?: string | undefined; name: string }) =>
            one.namespace === namespace && one.name === name;
          const losers = [
            ...conflicts.flatMap((one) => (isOfService(one) && one.property === "port" ? one.disagree : [])),
            ...findings.flatMap((one) =>
              isOfService(one) && one.reason === "DuplicatePort" ? one.clusterId : [],
            ),
          ];
          for (const clusterId of reportedBy) {
            const one = world.find((snapshot) => snapshot.clusterId === clusterId)!;
            const declared = (exporters.length > 0 ? one.exports : one.imports)[`${namespace}/${name}`]!;
            for (const port of declared.ports) {
              const kept = { ...port, protocol: (port.protocol || "TCP").toUpperCase() };
              if (!losers.includes(clusterId)) expect(ports).toContainEqual(kept);
            }
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

  it("every endpoint is there once, and ClusterSetIP services have none", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        for (const { type, endpoints } of mergeClusterset(world).services) {
          if (type === "ClusterSetIP") expect(endpoints).toEqual([]);
          const identities = endpoints.map(({ clusterId, address, hostname, ports }) =>
            JSON.stringify([clusterId.toLowerCase(), address, hostname, ports]),
          );
          expect(new Set(identities).size).toBe(identities.length);
        }
      }),
    );
  });
});
