import fc from "fast-check";
import { expect, it } from "vitest";
import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { expectMet } from "../../property-share.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { answerNow } from "../open-keyed.ts";
import { HOSTILE, hostilePush, openWorld, type World } from "./hostile-world.ts";

/**
 * The services of the world that the hostile cluster has no part in: it does not export them, or imports them
 * where nobody exports them.
 */
function unshared(world: readonly ClusterSnapshot[], hostile: ClusterSnapshot): Set<string> {
  // What stands in a namespace that the cluster does not have is not there.
  const there = world.map(({ clusterId, namespaces, ...lists }) => {
    const keysOf = (list: Record<string, { readonly managed?: true | undefined } | object>) =>
      Object.keys(list).filter(
        (key) => Object.hasOwn(namespaces, key.split("/")[0]!) && !("managed" in list[key]!),
      );
    return { clusterId, exports: keysOf(lists.exports), imports: keysOf(lists.imports) };
  });
  const theirs = new Set(
    there.flatMap(({ clusterId, exports, imports }) =>
      clusterId === "north" ? [...exports, ...imports] : exports,
    ),
  );
  return new Set(
    there
      .flatMap(({ exports, imports }) => [...exports, ...imports])
      .filter(
        (key) =>
          !Object.hasOwn(hostile.exports, key) && (!Object.hasOwn(hostile.imports, key) || theirs.has(key)),
      ),
  );
}

/** Other services have no names in DNS, and no claim on a reverse name. */
const HAS_NAMES = /^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/;

/**
 * Queries for all that such services can have: at the service's name, ports, endpoints, places, and reverse
 * names.
 */
function questions(
  world: readonly ClusterSnapshot[],
  keys: ReadonlySet<string>,
): [name: string, type: string][] {
  const asked: [string, string][] = [];
  for (const { clusterId, exports, imports } of world)
    for (const [key, one] of [...Object.entries(exports), ...Object.entries(imports)]) {
      if (!keys.has(key) || !HAS_NAMES.test(key)) continue;
      const [namespace, name] = key.split("/");
      const service = `${name}.${namespace}.svc.clusterset.local`;
      for (const type of ["A", "AAAA", "SRV"]) asked.push([service, type], [`_http._tcp.${service}`, type]);
      for (const type of ["A", "AAAA"])
        for (const at of ["", `${clusterId}.`])
          asked.push([`${at}${name}.${namespace}.fed.svc.federation`, type]);
      const groups = "ips" in one ? Object.values(one.endpoints) : [one.endpoints];
      for (const group of groups.flatMap((each) => Object.values(each)))
        for (const { address, hostname } of Object.values(group.members)) {
          const bytes = usableAddress(address);
          if (bytes !== undefined) asked.push([formatReverseName(bytes), "PTR"]);
          if (hostname !== undefined && /^[a-z0-9-]{1,63}$/.test(hostname))
            asked.push([`${hostname}.${clusterId}.${service}`, "A"]);
        }
      for (const ip of "ips" in one ? one.ips : []) {
        const bytes = usableAddress(ip);
        if (bytes !== undefined) asked.push([formatReverseName(bytes), "PTR"]);
      }
    }
  return asked;
}

function answers(
  { gateway, clock }: World,
  asked: readonly [string, string][],
  views: readonly (string | undefined)[],
) {
  return asked.flatMap(([name, type]) =>
    views.map((view) => {
      const { bytes } = answerNow(gateway.everything, encodeQuery(name, type), view, clock.now());
      return `${name} ${type} ${view}: ${Buffer.from(bytes).toString("hex")}`;
    }),
  );
}

/**
 * Addresses of services that the hostile cluster has a part in have reverse names that it has a part in as
 * well.
 */
function withoutShared(
  asked: readonly [string, string][],
  world: readonly ClusterSnapshot[],
  keys: ReadonlySet<string>,
): [string, string][] {
  const all = new Set(
    world.flatMap(({ exports, imports }) => [...Object.keys(exports), ...Object.keys(imports)]),
  );
  const shared = new Set([...all].filter((key) => !keys.has(key)));
  const theirs = new Set(questions(world, shared).flatMap(([name, type]) => (type === "PTR" ? name : [])));
  const claimed = claimedNames(world);
  return asked.filter(([name, type]) => type !== "PTR" || (claimed.has(name) && !theirs.has(name)));
}

/**
 * The reverse names of addresses that clusters report by their own exports: others are no claim
 * (SECURITY.md).
 */
function claimedNames(world: readonly ClusterSnapshot[]): Set<string> {
  const names = new Set<string>();
  const claim = (address: string) => {
    const bytes = usableAddress(address);
    if (bytes !== undefined) names.add(formatReverseName(bytes));
  };
  const claimAll = (groups: ClusterSnapshot["exports"][string]["endpoints"]) => {
    // Of the first day nobody knows who was first: then only an address with a record is claimed.
    for (const { members } of Object.values(groups))
      for (const { address, ready } of Object.values(members)) if (ready !== false) claim(address);
  };
  for (const { namespaces, exports, imports } of world) {
    const isThere = (key: string) => HAS_NAMES.test(key) && Object.hasOwn(namespaces, key.split("/")[0]!);
    for (const [key, one] of Object.entries(exports))
      if (one.headless && isThere(key)) claimAll(one.endpoints);
    for (const [key, { ips, managed }] of Object.entries(imports)) {
      const exported = Object.hasOwn(exports, key) ? exports[key] : undefined;
      if (exported?.headless === false && isThere(key) && managed !== true) ips.forEach(claim);
    }
  }
  return names;
}

it("whatever a cluster pushes, what it has no part in is answered byte for byte as before", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      arbitrarySnapshot(fc.constant("east")),
      arbitrarySnapshot(fc.constant("north")),
      arbitrarySnapshot(fc.constant("west")),
      fc.array(hostilePush, { minLength: 1, maxLength: 2 }),
      fc.boolean(),
      async (east, north, west, pushes, hostileIsKnown) => {
        const world = [east, north, west];
        const opened = await openWorld(world, hostileIsKnown);
        const statuses = () =>
          opened.gateway.everything.status().clusters.filter(({ clusterId }) => clusterId !== HOSTILE);
        const statusBefore = statuses();
        const had = new Set<string>();
        for (const pushed of pushes) {
          const keys = unshared(world, pushed);
          // A service that the cluster had a part in has lost its reverse names meanwhile to the cluster that
          // reported the addresses first.
          const never = new Set([...keys].filter((key) => !had.has(key)));
          const asked = withoutShared(questions(world, keys), world, never);
          for (const key of [...Object.keys(pushed.exports), ...Object.keys(pushed.imports)]) had.add(key);
          const alone = await openWorld(world, false);
          const views = [undefined, "east", "north", "west"];
          const before = answers(alone, asked, views);
          await opened.push(pushed, 5);
          const after = answers(opened, asked, views);
          // Whoever comes first may have the reverse name of an address that nobody has one of.
          const isTheirs = (_: string, index: number) => !/ PTR .*: 0000..05/.test(before[index]!);
          expect(after.filter(isTheirs)).toEqual(before.filter(isTheirs));
          expect(statuses()).toEqual(statusBefore);
          compared += before.length;
        }
      },
    ),
    { numRuns: 60 },
  );
  expectMet(compared, 2000);
});
