import type { ClusterSnapshot, Endpoint, EndpointGroup } from "../../src/snapshot/schema.ts";
import { BENCH_WORLD, generateWorld } from "../../test/worlds/generate.ts";

/** The worlds of 10,000 services that are compiled. */
export const WORLDS = {
  "half headless": () => generateWorld(BENCH_WORLD),
  "all headless": () => generateWorld({ ...BENCH_WORLD, headlessShare: 1 }),
  "all headless, dual stack": () => generateWorld({ ...BENCH_WORLD, headlessShare: 1 }).map(addIPv6),
} as const;

export type WorldName = keyof typeof WORLDS;

/** How many endpoints snapshots hold, each one address, as EndpointSlices count them. */
export function countEndpoints(snapshots: readonly ClusterSnapshot[]): number {
  return snapshots
    .flatMap(({ exports }) => Object.values(exports))
    .flatMap(({ endpoints }) => Object.values(endpoints))
    .reduce((sum, { members }) => sum + Object.keys(members).length, 0);
}

/**
 * Gives every endpoint a twin with an IPv6 address, as the second EndpointSlice of a dual-stack service does.
 */
function addIPv6(snapshot: ClusterSnapshot): ClusterSnapshot {
  const exports = Object.fromEntries(
    Object.entries(snapshot.exports).map(([key, exported]) => {
      const endpoints = Object.fromEntries(
        Object.entries(exported.endpoints).map(([ports, group]) => [ports, withTwins(group)]),
      );
      return [key, { ...exported, ipFamilies: ["IPv4" as const, "IPv6" as const], endpoints }];
    }),
  );
  return { ...snapshot, exports };
}

function withTwins(group: EndpointGroup): EndpointGroup {
  const members: Record<string, Endpoint> = {};
  for (const [key, endpoint] of Object.entries(group.members)) {
    const bytes = endpoint.address.split(".").map((byte) => Number(byte).toString(16));
    const address = `fd00:${bytes[0]}:${bytes[1]}::${bytes[2]}:${bytes[3]}`;
    members[key] = endpoint;
    members[`${address}#${endpoint.hostname}`] = { ...endpoint, address };
  }
  return { ...group, members };
}
