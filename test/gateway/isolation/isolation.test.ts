import fc from "fast-check";
import { expect, it } from "vitest";
import { FOUNDING } from "../../../src/database/ranks.ts";
import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import { ABSENT_CLUSTER, type ClustersetService } from "../../../src/merge/clusterset.ts";
import { nameOf, namespaceOf } from "../../../src/merge/order.ts";
import { mergeEntries } from "../../../src/names/compile-key.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";
import { expectMet } from "../../property-share.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { TurningClock } from "../fake-clock.ts";
import { putSnapshot } from "../open-gateway.ts";
import { answerNow, openKeyed, WITHOUT_SERIAL } from "../open-keyed.ts";
import { type Question, questions } from "./questions.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
const LEASE = 1_000_000;
/** Sorts before the others, so that no order by name protects them. */
const HOSTILE = "a";

const honest = fc.tuple(...["east", "north", "west"].map((id) => arbitrarySnapshot(fc.constant(id))));
const forged = fc.constantFrom("1970-01-01T00:00:00Z", "2020-01-01T00:00:01Z", "2999-01-01T00:00:00Z");

/** Whatever the schema takes of a cluster, with creation times as old as it likes. */
const hostilePush = fc
  .tuple(arbitrarySnapshot(fc.constant(HOSTILE)), fc.array(fc.option(forged), { minLength: 6, maxLength: 6 }))
  .map(([pushed, times]): ClusterSnapshot => {
    const exports = Object.entries(pushed.exports).map(([key, one], index) => [
      key,
      { ...one, exportedAt: times[index % times.length] ?? one.exportedAt },
    ]);
    return { ...pushed, exports: Object.fromEntries(exports) };
  });

/**
 * A gateway after its first day, on which each cluster of the world pushed, and the hostile one an empty
 * snapshot if it is known.
 */
async function openWorld(world: readonly ClusterSnapshot[], hostileIsKnown: boolean) {
  const clock = new TurningClock(BEGAN);
  const gateway = openKeyed({
    clock,
    names: {
      zones: { ttl: 30, federations: [{ name: "fed", zone: "federation" }] },
      merging: { grants: new Map([["north", "*" as const]]) },
    },
    queries: WITHOUT_SERIAL,
    limits: { lease: { ...DEFAULT_LEASE, maximumSeconds: LEASE } },
  });
  const push = async (snapshot: ClusterSnapshot, lease: number) => {
    await putSnapshot(gateway, snapshot, { leaseSeconds: lease });
  };
  const nothing = { namespaces: {}, exports: {}, imports: {}, services: {}, pods: {} };
  for (const snapshot of world) await push(snapshot, LEASE);
  if (hostileIsKnown) await push({ ...world[0]!, clusterId: HOSTILE, ...nothing }, LEASE);
  await clock.advance(FOUNDING + 1);
  return {
    gateway,
    clock,
    push,
    /** The services that are answered now. */
    services: (): ClustersetService[] => {
      const { entries, rules } = gateway.everything.current()!.world;
      return [...entries.serviceKeys()].flatMap((key) => {
        const reported = entries.service(namespaceOf(key), nameOf(key));
        return (reported && mergeEntries(key, reported, rules).service) ?? [];
      });
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

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

/** What can be asked about such services. */
function asked(world: readonly ClusterSnapshot[], keys: ReadonlySet<string>): Question[] {
  const only = <Value>(table: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(table).filter(([key]) => keys.has(key)));
  return questions(
    world.map((one) => ({
      ...one,
      exports: only(one.exports),
      imports: only(one.imports),
      services: {},
      pods: {},
    })),
  );
}

function answers({ gateway, clock }: World, some: readonly Question[]) {
  return some.flatMap(({ text, query }) =>
    [undefined, "east", "north", "west"].map((view) => {
      const { bytes } = answerNow(gateway.everything, query, view, clock.now());
      return `${text} ${view}: ${Buffer.from(bytes).toString("hex")}`;
    }),
  );
}

/**
 * Addresses of services that the hostile cluster has a part in have reverse names that it has a part in as
 * well.
 */
function withoutShared(
  some: readonly Question[],
  world: readonly ClusterSnapshot[],
  keys: ReadonlySet<string>,
): Question[] {
  const all = world.flatMap(({ exports, imports }) => [...Object.keys(exports), ...Object.keys(imports)]);
  const theirs = new Set(asked(world, new Set(all.filter((key) => !keys.has(key)))).map(({ text }) => text));
  const claimed = claimedNames(world);
  return some.filter(({ text }) => {
    const [name, type] = text.split(" ");
    return type !== "PTR" || (claimed.has(name!) && !theirs.has(text));
  });
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
      honest,
      fc.array(hostilePush, { minLength: 1, maxLength: 2 }),
      fc.boolean(),
      async (world, pushes, hostileIsKnown) => {
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
          const some = withoutShared(asked(world, keys), world, never);
          for (const key of [...Object.keys(pushed.exports), ...Object.keys(pushed.imports)]) had.add(key);
          const alone = await openWorld(world, false);
          const before = answers(alone, some);
          await opened.push(pushed, 5);
          const after = answers(opened, some);
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

/** What one cluster decides for a service, with nothing that others add to. */
function decided(service: ClustersetService) {
  const { type, sessionAffinity, sessionAffinityTimeoutSeconds, labels, annotations } = service;
  const { internalTrafficPolicy, trafficDistribution } = service;
  const affinity = [sessionAffinity, sessionAffinityTimeoutSeconds];
  return { type, affinity, internalTrafficPolicy, trafficDistribution, labels, annotations };
}

/** Whether a late cluster may add to a service: it exports it, or imports it where nobody exports it. */
function isShared({ namespace, name, exporters }: ClustersetService, hostile: ClusterSnapshot): boolean {
  const key = `${namespace}/${name}`;
  const has = (list: object) => Object.hasOwn(list, key) && Object.hasOwn(hostile.namespaces, namespace);
  return exporters.length > 0 ? has(hostile.exports) : has(hostile.imports) && !has(hostile.exports);
}

/** The addresses that are answered, in the view of a cluster or outside. */
const addressesFor = ({ byCluster, outside }: ClustersetService, view: string | undefined) =>
  ((view === undefined ? undefined : byCluster.get(view)) ?? outside).addresses;

function expectNothingDecided(before: ClustersetService, after: ClustersetService) {
  expect(decided(after)).toEqual(decided(before));
  // Who comes late adds ports that nobody has, endpoints and addresses, and takes none away.
  expect(after.ports.slice(0, before.ports.length)).toEqual(before.ports);
  expect(after.exporters.slice(0, before.exporters.length)).toEqual(before.exporters);
  expect(after.shards.slice(0, before.shards.length)).toEqual(before.shards);
  expect(after.endpoints.filter(({ reportedBy }) => reportedBy !== HOSTILE)).toEqual(before.endpoints);
  if (before.outside.source !== "none") {
    expect(after.outside.source).toBe(before.outside.source);
    expect(after.outside.hostname).toBe(before.outside.hostname);
  }
  for (const view of [undefined, ABSENT_CLUSTER, "east", "north", "west"])
    expect(addressesFor(after, view)).toEqual(expect.arrayContaining([...addressesFor(before, view)]));
}

it("a cluster that comes late to a service changes nothing that earlier ones decide; its endpoints join", async () => {
  let runs = 0;
  let shared = 0;
  await fc.assert(
    fc.asyncProperty(
      honest,
      fc.array(hostilePush, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      async (snapshots, pushes, hostileIsKnown) => {
        runs++;
        const world = await openWorld(snapshots, hostileIsKnown);
        const before = world.services();
        for (const pushed of pushes) {
          await world.push(pushed, 5);
          const after = new Map(world.services().map((one) => [`${one.namespace}/${one.name}`, one]));
          for (const service of before.filter((one) => isShared(one, pushed))) {
            shared++;
            expectNothingDecided(service, after.get(`${service.namespace}/${service.name}`)!);
          }
        }
      },
    ),
    { numRuns: 150 },
  );
  expectMet(shared, runs * 0.67);
});
