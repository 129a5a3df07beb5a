import fc from "fast-check";
import { expect, it } from "vitest";
import type { View } from "../../../src/access/client.ts";
import type { ScopedGateway } from "../../../src/gateway/gateway-types.ts";
import { explainAnswer } from "../../../src/http/explain.ts";
import { readAnswer } from "../../../src/http/json.ts";
import { createDirectory } from "../../../src/http/pages/directory.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../../src/snapshot/schema.ts";
import { localityView } from "../../../src/zone/world.ts";
import { DEFAULT_LEASE } from "../../config/default-limits.ts";
import { listedOf } from "../../http/pages/pages-world.ts";
import { expectMet } from "../../property-share.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import {
  arbitraryPartlyHidden,
  arbitraryScope,
  HIDDEN_CLUSTERS,
  type PartlyHidden,
  VISIBLE_CLUSTERS,
} from "../../worlds/partly-hidden.ts";
import { TurningClock } from "../fake-clock.ts";
import { putSnapshot } from "../open-gateway.ts";
import { answerNow, openKeyed, WITHOUT_SERIAL } from "../open-keyed.ts";
import { type Question, questions } from "./questions.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
const DAY = 86_400;
const PLACE = { region: "eu", zone: "zone-a" };
const GRANTS = new Map([["west", "*" as const]]);

function open(scopes: readonly Visibility[], clusterIds: readonly string[]) {
  const clock = new TurningClock(BEGAN);
  const gateway = openKeyed({
    clock,
    scopes,
    clusterIds,
    queries: WITHOUT_SERIAL,
    names: {
      zones: {
        ttl: 30,
        zones: ["clusterset.local", "corp.example"],
        federations: [{ name: "fed", zone: "federation", domain: "fed.example" }],
        localities: [PLACE],
      },
      merging: { grants: GRANTS },
    },
    limits: { lease: { ...DEFAULT_LEASE, maximumSeconds: 2 * DAY } },
  });
  return { gateway, clock };
}

type Opened = ReturnType<typeof open>;

const CLUSTERS = [...VISIBLE_CLUSTERS, ...HIDDEN_CLUSTERS];
const VIEWS: readonly (string | undefined)[] = [undefined, ...CLUSTERS, localityView(PLACE)];

/** What can be seen of a gateway in a scope. */
function seenIn({ gateway: whole, clock }: Opened, gateway: ScopedGateway = whole.everything) {
  const listed = () => listedOf(whole, gateway);
  const answer = (query: Uint8Array, view?: string) => answerNow(gateway, query, view, clock.now());
  return {
    /** The answers to all that is asked, in text. */
    answers: (asked: readonly Question[], views = VIEWS, shownAs?: string) =>
      asked.flatMap(({ text, query }) =>
        views.map((view) => {
          const { bytes, ...rest } = answer(query, view);
          return `${text} ${shownAs ?? view} ${JSON.stringify(rest)} ${Buffer.from(bytes).toString("hex")}`;
        }),
      ),
    /** The explanations of answers, in text. */
    explanations: (asked: readonly Question[], views = VIEWS) =>
      Promise.all(
        asked.flatMap(({ text, query }) =>
          views.map(async (view) => {
            const json = readAnswer(answer(query, view).bytes, "");
            const asked = { view: viewOf(view), isForwarded: false };
            return `${text} ${view} ${JSON.stringify(await explainAnswer({ listed, gateway }, asked, json))}`;
          }),
        ),
      ),
    /** Everything else. */
    rest: async () => {
      const survey = await gateway.survey();
      const { stateHash: _, compiledBytes: __, ...status } = gateway.status();
      const directory = createDirectory(listed);
      const all = { offset: 0, most: 100 };
      return {
        status,
        conflicts: survey?.conflicts,
        findings: survey?.findings,
        clusters: CLUSTERS.filter((clusterId) => gateway.hasCluster(clusterId)),
        exports: await Promise.all(CLUSTERS.map((clusterId) => directory.cluster(clusterId, all))),
      };
    },
  };
}

function viewOf(view: string | undefined): View {
  return view === localityView(PLACE)
    ? { cluster: undefined, locality: PLACE, isPrivate: false }
    : { cluster: view, isPrivate: false };
}

type Step =
  | { readonly do: "push" | "leave" | "renew"; readonly cluster: number; readonly lease: number }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "hidden"; readonly cluster: number; readonly lease: number };

/** Something is there that is hidden, then all, and something changes that is hidden. */
const BEGINNING: readonly Step[] = [
  { do: "hidden", cluster: 0, lease: 2 * DAY },
  { do: "wait", seconds: 1 },
  { do: "push", cluster: 0, lease: 2 * DAY },
  { do: "push", cluster: 1, lease: 300 },
  { do: "wait", seconds: 1 },
  { do: "hidden", cluster: 1, lease: 300 },
];

const lease = fc.constantFrom(30, 300, 2 * DAY);
const cluster = fc.nat({ max: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("push" as const), cluster, lease }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("hidden" as const), cluster, lease }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("leave" as const, "renew" as const), cluster, lease }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 40, 400, DAY + 1) }),
  },
);

/**
 * The same, but what is hidden of imports has addresses of its own: since when a cluster's imports count for
 * an address is kept by namespace, whoever's endpoints they are of (docs/how-to/access.md, Scopes).
 */
function withImportsApart({ full: [one, other], visible }: PartlyHidden): PartlyHidden {
  let count = 0;
  const apart = (address: string) =>
    address.includes(":") ? `2001:db8:ffff::${++count % 9999}` : `203.0.113.${++count % 256}`;
  const moved = (groups: EndpointGroups): EndpointGroups =>
    mapValues(groups, (group) => ({
      ...group,
      members: mapValues(group.members, (member) => ({ ...member, address: apart(member.address) })),
    }));
  const separate = (full: ClusterSnapshot): ClusterSnapshot => ({
    ...full,
    imports: mapValues(full.imports, (service, key) => {
      const seen = Object.hasOwn(visible.imports, key) ? visible.imports[key] : undefined;
      const isSeen = (source: string) => seen !== undefined && Object.hasOwn(seen.endpoints, source);
      return {
        ...service,
        ips: seen === undefined ? service.ips.map(apart) : service.ips,
        endpoints: mapValues(service.endpoints, (groups, source) =>
          isSeen(source) ? groups : moved(groups),
        ),
      };
    }),
  });
  return { visible, full: [separate(one), separate(other)] };
}

function mapValues<Value>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value, name: string) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

const partlyHidden = (scope: Visibility) =>
  fc.tuple(...VISIBLE_CLUSTERS.map((id) => arbitraryPartlyHidden(id, scope).map(withImportsApart)));
const world = arbitraryScope.chain((scope) =>
  fc.record({
    scope: fc.constant(scope),
    clusters: partlyHidden(scope),
    changed: partlyHidden(scope),
    hidden: fc.tuple(...HIDDEN_CLUSTERS.map((id) => arbitrarySnapshot(fc.constant(id)))),
    steps: fc.array(step, { minLength: 1, maxLength: 6 }).map((more) => [...BEGINNING, ...more]),
  }),
);

it("what is hidden answers, byte for byte, as what does not exist", async () => {
  const counts = { answers: 0, positive: 0, explained: 0, suggested: 0, kept: 0, unready: 0 };
  await fc.assert(
    fc.asyncProperty(world, async ({ scope, clusters, changed, hidden, steps }) => {
      const full = open([scope, { ...scope, view: "west" }], CLUSTERS);
      const alone = open(
        [],
        CLUSTERS.filter((id) => scope.clusters?.includes(id) !== false),
      );
      const scoped = full.gateway.within(scope);
      const asked = questions([...clusters, ...changed].flatMap((one) => one.full).concat(hidden));
      const turns = [0, 0];
      const ways = [0, 0];
      const generations = new Map<Opened, Map<string, number>>([
        [full, new Map()],
        [alone, new Map()],
      ]);
      const push = async (at: Opened, snapshot: ClusterSnapshot, seconds: number) => {
        const { generation } = await putSnapshot(at.gateway, snapshot, { leaseSeconds: seconds });
        generations.get(at)!.set(snapshot.clusterId, generation);
      };
      const pushBoth = async (index: number, seconds: number) => {
        const one: PartlyHidden = (turns[index]! % 2 === 0 ? clusters : changed)[index]!;
        await push(full, one.full[ways[index]! % 2]!, seconds);
        await push(alone, one.visible, seconds);
      };
      const take = async (step: Step) => {
        if (step.do === "wait") {
          await full.clock.advance(step.seconds * 1000);
          await alone.clock.advance(step.seconds * 1000);
          return;
        }
        const id = VISIBLE_CLUSTERS[step.cluster]!;
        if (step.do === "push") {
          turns[step.cluster]!++;
          await pushBoth(step.cluster, step.lease);
        } else if (step.do === "leave") {
          for (const at of [full, alone]) await at.gateway.leave(id);
        } else if (step.do === "renew") {
          const renewed = await Promise.all(
            [full, alone].map((at) =>
              at.gateway.renew(id, generations.get(at)!.get(id) ?? 0, { leaseSeconds: step.lease }).then(
                () => true,
                () => false,
              ),
            ),
          );
          expect(renewed[0]).toBe(renewed[1]);
        } else {
          const before = scoped.current(full.clock.now())?.world;
          if (scope.clusters !== undefined) await push(full, hidden[step.cluster]!, step.lease);
          if (full.gateway.everything.hasCluster(id)) {
            ways[step.cluster]!++;
            await pushBoth(step.cluster, step.lease);
            if (before !== undefined && scoped.current(full.clock.now())?.world === before) counts.kept++;
          }
        }
      };
      const [inScope, inAlone] = [seenIn(full, scoped), seenIn(alone)];
      const compare = async (some: readonly Question[]) => {
        const now = full.clock.now();
        const expected = inAlone.answers(some);
        expect(inScope.answers(some)).toEqual(expected);
        const explained = some.filter((_, index) => index % 16 === 0);
        const explanations = await inAlone.explanations(explained);
        expect(await inScope.explanations(explained)).toEqual(explanations);
        counts.explained += explanations.filter((one) => one.includes('"decidedBy"')).length;
        counts.suggested += explanations.filter((one) => one.includes('"because"')).length;
        const alike = await inAlone.rest();
        expect(await inScope.rest()).toEqual(alike);
        expect(scoped.status()).toMatchObject({ stateHash: undefined, compiledBytes: 0 });
        // Whoever sees everything gets the time of the newest change, others that of the answer.
        if (alike.status.ready) expect(scoped.current(now)!.world.serial).toBe(Math.floor(now / 1000));
        counts.answers += expected.length;
        counts.positive += expected.filter((answer) => answer.includes('"outcome":"answer"')).length;
        if (!alike.status.ready) counts.unready++;
      };

      await compare(asked.slice(0, 10));
      for (const one of steps) {
        await take(one);
        await compare(asked.filter((_, index) => index % 20 === 0));
      }
      await compare(asked);
      const asWest = full.gateway.within({ ...scope, view: "west" });
      const inWest = seenIn(full, asWest);
      expect(inWest.answers(asked, ["east", undefined], "west")).toEqual(
        inAlone.answers(asked, ["west", "west"], "west"),
      );
      const few = asked.filter((_, index) => index % 30 === 0);
      expect(await inWest.explanations(few, ["west"])).toEqual(await inAlone.explanations(few, ["west"]));
      expect(CLUSTERS.filter((id) => asWest.hasCluster(id))).toEqual(
        alone.gateway.everything.hasCluster("west") ? ["west"] : [],
      );
    }),
    // To shrink such worlds takes minutes.
    { numRuns: 16, endOnFailure: true },
  );
  expectMet(counts.answers, 10_000);
  expectMet(counts.positive, 200);
  expectMet(counts.explained, 200);
  expectMet(counts.suggested, 200);
  expectMet(counts.kept, 16);
  // Before the first push at least.
  expectMet(counts.unready, 16);
});
