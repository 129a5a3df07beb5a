import type { ApiClient } from "../../test/e2e/servers/kubernetes/api-client.ts";
import { importedSlice, type KubeObject, serviceImport } from "../../test/e2e/servers/kubernetes/objects.ts";
import type { Stop } from "../processes/stops.ts";
import { encodeQuery } from "../resolve/cases.ts";

/** Asks for the service that changes, headless, in a namespace of its own. */
export const CHANGING_QUERY = encodeQuery("db.changing.svc.clusterset.local", "A");
/** Slices of other imported services that change beside it. */
export const UNRELATED_PER_SECOND = 40;
const UNRELATED_SERVICES = 40;

/** The imported service whose address changes; it has the one with this number. */
export function changingObjects(): KubeObject[] {
  return [headlessImport("db"), changingSlice(addressOf(0))];
}

export function changingSlice(address: string): KubeObject {
  return slice("db", address);
}

export function addressOf(index: number): string {
  return `10.99.${index >> 8}.${index & 255}`;
}

export function unrelatedObjects(): KubeObject[] {
  return Array.from({ length: UNRELATED_SERVICES }, (_, index) => unrelatedName(index)).flatMap((name) => [
    headlessImport(name),
    slice(name, "10.98.0.0"),
  ]);
}

/** Gives one slice after the other another address, at a fixed rate; returns what ends that. */
export function changeUnrelated(admin: ApiClient): Stop {
  let changes = 0;
  const writes = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    changes++;
    const address = `10.98.${(changes >> 8) & 255}.${changes & 255}`;
    const write = admin.apply(slice(unrelatedName(changes % UNRELATED_SERVICES), address));
    writes.add(write);
    void write.finally(() => writes.delete(write));
  }, 1000 / UNRELATED_PER_SECOND);
  return async () => {
    clearInterval(timer);
    await Promise.all(writes);
  };
}

function unrelatedName(index: number): string {
  return `unrelated-${index}`;
}

function headlessImport(name: string): KubeObject {
  const ports = [{ name: "pg", port: 5432, protocol: "TCP" }];
  return serviceImport("changing", name, { type: "Headless", ports });
}

function slice(name: string, address: string): KubeObject {
  const endpoints = [{ addresses: [address], hostname: `${name}-0`, conditions: { ready: true } }];
  return importedSlice("changing", name, "cluster-a", { ports: [{ name: "pg", port: 5432 }], endpoints });
}
