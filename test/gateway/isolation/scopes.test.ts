import fc from "fast-check";
import { expect, it } from "vitest";
import type { View } from "../../../src/access/view/view.ts";
import { usableAddress } from "../../../src/dns/address.ts";
import { formatReverseName } from "../../../src/dns/reverse.ts";
import { SERVICE_EXPLAINER } from "../../../src/explain/service/explainer.ts";
import type { ScopedGateway } from "../../../src/gateway/doh-gateway.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { DEFAULT_GATEWAY_LIMITS } from "../../../src/gateway/pushing/limits.ts";
import { explainAnswer } from "../../../src/http/explain/explain-answer.ts";
import { renderJsonAnswer } from "../../../src/http/json/json-answer.ts";
import { createDirectory } from "../../../src/http/pages/directory.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { notReady } from "../../../src/resolve/error-responses.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import type { ClusterSnapshot, EndpointGroups } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { localityView } from "../../../src/zone/locality.ts";
import { expectMet } from "../../property-share.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import {
  arbitraryPartlyHidden,
  arbitraryScope,
  HIDDEN_CLUSTERS,
  type PartlyHidden,
  VISIBLE_CLUSTERS,
} from "../../worlds/partly-hidden.ts";
import { FakeClock } from "../fake-clock.ts";
import { putSnapshot } from "../pushes.ts";
import { realCompiler } from "../real-stages.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
const DAY = 86_400;
const PLACE = { region: "eu", zone: "zone-a" };
const GRANTS = new Map([["west", "*" as const]]);

async function open(scopes: readonly Visibility[] = []) {
  const clock = new FakeClock(BEGAN);
  let compiled = 0;
  const gateway = await Gateway.open({
    store: createMemoryStore(),
    clock,
    scopes,
    stages: {
      merging: { grants: GRANTS },
      createCompiler: () =>
        realCompiler({
          ttl: 30,
          zones: ["clusterset.local", "corp.example"],
          federations: [{ name: "fed", zone: "federation", domain: "fed.example" }],
          localities: [PLACE],
        }),
      resolve: (query, context) => resolve(query, { ...context, rotation: 0, outside: "refuse" }),
      notReady,
    },
    onEvent: (event) => {
      if (event.event === "compile-failed") throw event.error;
      if (event.event === "compiled" && event.scope !== undefined) compiled++;
    },
    limits: { lease: { ...DEFAULT_GATEWAY_LIMITS.lease, maximumSeconds: 2 * DAY } },
  });
  /** Has something done, with all that is due at this moment. */
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    await clock.advance(0);
    return promise;
  };
  return { gateway, clock, done, compiled: () => compiled };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** A question in text, and as a query. */
interface Question {
  readonly text: string;
  readonly query: Uint8Array;
}

/** What can be asked about a cluster, whoever it exists for. */
function questions(worlds: readonly ClusterSnapshot[]): Question[] {
  const names = new Set([
    "clusterset.local",
    "corp.example",
    "federation",
    "fed.example",
    "cluster.local",
    "other",
  ]);
  const reverse = new Set<string>();
  const isLabel = (text: string | undefined): text is string => /^[a-z0-9-]{1,63}$/.test(text ?? "");
  const addReverse = (address: string) => {
    const bytes = usableAddress(address);
    if (bytes !== undefined) reverse.add(formatReverseName(bytes));
  };
  for (const { clusterId, exports, imports, services, pods } of worlds) {
    for (const [key, one] of [exports, imports, services].flatMap((table) => Object.entries(table))) {
      const [namespace, name] = key.split("/");
      if (!isLabel(namespace) || !isLabel(name)) continue;
      const service = `${name}.${namespace}.svc`;
      for (const zone of ["clusterset.local", "cluster.local"])
        for (const before of ["", "_http._tcp.", `web-0.${clusterId}.`, "web-0.north.", "hidden.", "web-0."])
          names.add(`${before}${service}.${zone}`);
      for (const before of ["", `${clusterId}.`, "north."])
        for (const zone of ["federation", "fed.example", "eu.federation", "zone-a.eu.federation"])
          names.add(`${before}${name}.${namespace}.fed.svc.${zone}`);
      for (const ip of "ips" in one ? one.ips : (one.clusterIPs ?? [])) addReverse(ip);
      const groups: EndpointGroups[] = "ips" in one ? Object.values(one.endpoints) : [one.endpoints];
      for (const { members } of groups.flatMap((each) => Object.values(each)))
        for (const { address } of Object.values(members)) addReverse(address);
    }
    for (const key of Object.keys(pods)) {
      const [namespace, address = ""] = key.split("/");
      names.add(`${address.replaceAll(/[.:]/g, "-")}.${namespace}.pod.cluster.local`);
    }
  }
  const asked = [
    ...[...names].flatMap((name) => ["A", "AAAA", "SRV"].map((type) => [name, type] as const)),
    ...[...reverse].map((name) => [name, "PTR"] as const),
  ];
  return asked.map(([name, type]) => ({ text: `${name} ${type}`, query: encodeQuery(name, type) }));
}

const CLUSTERS = [...VISIBLE_CLUSTERS, ...HIDDEN_CLUSTERS];
const VIEWS = [undefined, ...CLUSTERS, localityView(PLACE)];

/** The answers to all that is asked, in text. */
function answersOf(
  gateway: ScopedGateway<Generation>,
  now: number,
  asked: readonly Question[],
  views: readonly (string | undefined)[],
  shownAs?: string,
) {
  return asked.flatMap(({ text, query }) =>
    views.map((view) => {
      const { bytes, ...rest } = gateway.answer(query, view, now)!;
      return `${text} ${shownAs ?? view} ${JSON.stringify(rest)} ${Buffer.from(bytes).toString("hex")}`;
    }),
  );
}

/** The explanations of answers, in text. */
function explanationsOf(
  gateway: ScopedGateway<Generation>,
  now: number,
  asked: readonly Question[],
  views: readonly (string | undefined)[],
  shownAs?: string,
) {
  return asked.flatMap(({ text, query }) =>
    views.map((view) => {
      const json = renderJsonAnswer(gateway.answer(query, view, now)!.bytes, "");
      const served = gateway.current(now);
      const explained = served && { ...served, explainer: SERVICE_EXPLAINER };
      const from = { listed: () => explained, status: () => gateway.status() };
      const explanation = explainAnswer(from, { view: viewOf(view), isForwarded: false }, json);
      return `${text} ${shownAs ?? view} ${JSON.stringify(explanation)}`;
    }),
  );
}

function viewOf(view: string | undefined): View {
  return view === localityView(PLACE)
    ? { cluster: undefined, locality: PLACE, isPrivate: false }
    : { cluster: view, isPrivate: false };
}

/** Everything else that can be seen of a gateway. */
function seen(gateway: ScopedGateway<Generation>, now: number) {
  const current = gateway.current(now);
  const directory = createDirectory(() => current);
  return {
    status: gateway.status(),
    generation: current && [current.generation.serial, current.generation.rootHash],
    leaseExpiry:
      current && [...current.generation.segments()].map((segment) => [...current.leases.of(segment)]),
    clusters: CLUSTERS.filter((clusterId) => gateway.hasCluster(clusterId)),
    exports: CLUSTERS.map((clusterId) => directory.cluster(clusterId, { offset: 0, most: 100 })),
  };
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

const world = arbitraryScope.chain((scope) =>
  fc.record({
    scope: fc.constant(scope),
    clusters: fc.tuple(...VISIBLE_CLUSTERS.map((id) => arbitraryPartlyHidden(id, scope))),
    changed: fc.tuple(...VISIBLE_CLUSTERS.map((id) => arbitraryPartlyHidden(id, scope))),
    hidden: fc.tuple(...HIDDEN_CLUSTERS.map((id) => arbitrarySnapshot(fc.constant(id)))),
    steps: fc.array(step, { minLength: 1, maxLength: 6 }).map((more) => [...BEGINNING, ...more]),
  }),
);

it("what is hidden answers, byte for byte, as what does not exist", async () => {
  const counts = { answers: 0, positive: 0, explained: 0, suggested: 0, kept: 0, unready: 0 };
  await fc.assert(
    fc.asyncProperty(world, async ({ scope, clusters, changed, hidden, steps }) => {
      const full = await open([scope, { ...scope, view: "west" }]);
      const alone = await open();
      const scoped = full.gateway.within(scope);
      const asked = questions([...clusters, ...changed].flatMap((one) => one.full).concat(hidden));
      const turns = [0, 0];
      const ways = [0, 0];
      const generations = new Map<Opened, Map<string, number>>([
        [full, new Map()],
        [alone, new Map()],
      ]);
      const push = async (at: Opened, snapshot: ClusterSnapshot, seconds: number) => {
        const { generation } = await at.done(putSnapshot(at.gateway, snapshot, { leaseSeconds: seconds }));
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
          for (const at of [full, alone]) await at.done(at.gateway.leave(id));
        } else if (step.do === "renew") {
          const renewed = await Promise.all(
            [full, alone].map((at) =>
              at
                .done(at.gateway.renew(id, generations.get(at)!.get(id) ?? 0, { leaseSeconds: step.lease }))
                .then(
                  () => true,
                  () => false,
                ),
            ),
          );
          expect(renewed[0]).toBe(renewed[1]);
        } else {
          const before = scoped.current(full.clock.now())?.generation;
          if (scope.clusters !== undefined) await push(full, hidden[step.cluster]!, step.lease);
          if (full.gateway.hasCluster(id)) {
            ways[step.cluster]!++;
            await pushBoth(step.cluster, step.lease);
            if (before !== undefined && scoped.current(full.clock.now())?.generation === before)
              counts.kept++;
          }
        }
      };
      const compare = (some: readonly Question[]) => {
        const now = full.clock.now();
        const expected = answersOf(alone.gateway, now, some, VIEWS);
        expect(answersOf(scoped, now, some, VIEWS)).toEqual(expected);
        const explained = some.filter((_, index) => index % 16 === 0);
        const explanations = explanationsOf(alone.gateway, now, explained, VIEWS);
        expect(explanationsOf(scoped, now, explained, VIEWS)).toEqual(explanations);
        counts.explained += explanations.filter((one) => one.includes('"decidedBy"')).length;
        counts.suggested += explanations.filter((one) => one.includes('"because"')).length;
        const alike = seen(alone.gateway, now);
        expect(seen(scoped, now)).toEqual(alike);
        counts.answers += expected.length;
        counts.positive += expected.filter((answer) => answer.includes('"outcome":"answer"')).length;
        if (!alike.status.ready) counts.unready++;
      };

      compare(asked.slice(0, 10));
      for (const one of steps) {
        await take(one);
        compare(asked.filter((_, index) => index % 20 === 0));
      }
      compare(asked);
      const asWest = full.gateway.within({ ...scope, view: "west" });
      const now = full.clock.now();
      expect(answersOf(asWest, now, asked, ["east", undefined], "west")).toEqual(
        answersOf(alone.gateway, now, asked, ["west", "west"], "west"),
      );
      const few = asked.filter((_, index) => index % 30 === 0);
      expect(explanationsOf(asWest, now, few, ["west"])).toEqual(
        explanationsOf(alone.gateway, now, few, ["west"]),
      );
      expect(CLUSTERS.filter((id) => asWest.hasCluster(id))).toEqual(
        alone.gateway.hasCluster("west") ? ["west"] : [],
      );
    }),
    { numRuns: 16 },
  );
  expectMet(counts.answers, 10_000);
  expectMet(counts.positive, 200);
  expectMet(counts.explained, 200);
  expectMet(counts.suggested, 200);
  expectMet(counts.kept, 16);
  // Before the first push at least.
  expectMet(counts.unready, 16);
});
