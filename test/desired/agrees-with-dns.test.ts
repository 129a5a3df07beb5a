import fc from "fast-check";
import { expect, it } from "vitest";
import type { DesiredService } from "../../src/desired/desired-service.ts";
import { addressesIn } from "../../src/explain/service.ts";
import { listRecords } from "../../src/names/listing.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { worldOf } from "../names/world-of.ts";
import { expectMet } from "../property-share.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";
import { deriveWorld } from "./derived.ts";

const ZONE = "clusterset.local.";

/** The records of a view: by name and type, their data. */
function recordsOf(world: readonly ClusterSnapshot[], view: string): Map<string, string[]> {
  const records = new Map<string, string[]>();
  for (const { name, type, rdata } of listRecords(worldOf(world), { zone: ZONE, view }))
    records.set(`${name} ${type}`, [...(records.get(`${name} ${type}`) ?? []), rdata]);
  return records;
}

const readyOf = ({ slices }: DesiredService, cluster?: string) =>
  distinct(
    slices
      .filter((slice) => cluster === undefined || slice.cluster === cluster)
      .flatMap(({ desired }) => desired.endpoints)
      .flatMap(({ address, ready }) => (ready === false ? [] : address)),
  );
const distinct = (texts: readonly string[]) => [...new Set(texts)].sort();

it("imports and slices say what records of the cluster's view say", () => {
  const seen = { headless: 0, endpoints: 0, own: 0, ports: 0, absent: 0 };
  fc.assert(
    fc.property(arbitraryWorld, (worlds) => {
      // Endpoints that importers report of clusters that do not push are in records, and their objects are
      // somebody else's.
      const world = worlds.map((one) => ({
        ...one,
        imports: Object.fromEntries(Object.entries(one.imports).filter(([, { managed }]) => managed)),
      }));
      const { accounts, service: desiredOf } = deriveWorld(world);
      for (const { clusterId: view, namespaces, imports } of world) {
        const records = recordsOf(world, view);
        const at = (name: string, ...types: string[]) =>
          distinct(types.flatMap((type) => records.get(`${name} ${type}`) ?? []));
        for (const key of accounts.world.entries.serviceKeys()) {
          const { service, likeOutside } = accounts.of(key, view);
          if (service === undefined) continue;
          const desired = desiredOf(key, view);
          if (!Object.hasOwn(namespaces, service.namespace)) continue;
          const name = `${service.name}.${service.namespace}.svc.${ZONE}`;
          if (desired === undefined) {
            expect(at(name, "A", "AAAA", "SRV")).toEqual([]);
            seen.absent++;
            continue;
          }
          expect(desired.import.clusters).toEqual(service.exporters);
          if (desired.import.type === "Headless") {
            expect(at(name, "A", "AAAA")).toEqual(readyOf(desired));
            for (const cluster of service.exporters) {
              const hosts = [...records.keys()].filter(
                (host) => host.endsWith(`.${cluster}.${name} A`) || host.endsWith(`.${cluster}.${name} AAAA`),
              );
              expect(distinct(hosts.flatMap((host) => records.get(host)!))).toEqual(
                readyOf(desired, cluster),
              );
            }
            seen.headless++;
            continue;
          }
          const { source, addresses } = addressesIn(service, likeOutside, view);
          if (source === "Endpoint") {
            expect(at(name, "A", "AAAA")).toEqual(readyOf(desired));
            seen.endpoints++;
          }
          if (imports[key] !== undefined && source === "ClusterSetIP") {
            expect(addresses.every((address) => imports[key]!.ips.includes(address))).toBe(true);
            seen.own++;
          }
          // Endpoints listen where they do, and a ServiceImport has the ports of its Service.
          if (at(name, "A", "AAAA").length === 0 || source === "Endpoint") continue;
          const numbers = at(name, "SRV").map((rdata) => rdata.split(" ")[2]!);
          const named = desired.import.ports.filter((port) => port.name !== "");
          // Longer names have no SRV record, and names that are no label of Kubernetes no object.
          const usable = service.ports.every((port) => /^[a-z]{0,15}$/.test(port.name));
          if (!usable) continue;
          expect(distinct(numbers)).toEqual(distinct(named.map(({ port }) => String(port))));
          seen.ports++;
        }
      }
    }),
    { numRuns: 100 },
  );
  for (const count of Object.values(seen)) expectMet(count, 2);
});
