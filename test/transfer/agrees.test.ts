import fc from "fast-check";
import { expect, it } from "vitest";
import { type Visibility, visibilityKey } from "../../src/merge/visibility.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { PartMemory } from "../../src/transfer/part-cache.ts";
import { Secondary } from "../../src/transfer/secondary.ts";
import { FakeClock } from "../gateway/fake-clock.ts";
import { patchCluster, putSnapshot } from "../gateway/open-gateway.ts";
import { answerNow, REAL_QUERIES } from "../gateway/open-keyed.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { namesOf } from "../names/interesting-names.ts";
import { expectMet } from "../property-share.ts";
import { decode, encodeQuery } from "../resolve/ask.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitraryStep, type Step } from "../worlds/steps.ts";
import { FakeSource, inTurns, MEBIBYTE, openPrimary, passUntil, seeded } from "./pair.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [
  {},
  { clusters: ["east", "west"] },
  { namespaces: ["shop"] },
  { addressRanges: ["10.0.0.0/8"], view: "east" },
];
const TYPES = ["A", "SRV", "PTR"];
const PLACES = [{ region: "eu" }, { region: "us", zone: "zone-b" }];
const ZONES = {
  zones: ["clusterset.local.", "alias.example."],
  ttl: 30,
  federations: [{ name: "fed", zone: "federation." }],
  localities: PLACES,
  nameServerAddresses: ["192.0.2.53"],
  hosts: [{ name: "host.shop.svc.clusterset.local", addresses: ["192.0.2.2"] }],
};

const step = arbitraryStep(CLUSTERS, 2, 20, 700);

/** A primary, to which steps are applied, and readers of it that share a cache of their location. */
function openWorld(seed: number) {
  const clock = new FakeClock(Date.UTC(2026, 5, 1, 12));
  const random = seeded(seed);
  const held = openPrimary(clock, SCOPES, { zones: ZONES });
  const snapshots = new Map<string, { readonly snapshot: ClusterSnapshot; readonly generation: number }>();
  const sources = SCOPES.map((scope) => {
    const source = new FakeSource(() => held.primary.of(visibilityKey(scope))!, clock);
    source.keeps = true;
    source.partLatency = () => Math.floor(random() * 40);
    return source;
  });
  const memory = new PartMemory(MEBIBYTE);
  const open = (scope: number) =>
    new Secondary({
      source: sources[scope]!,
      stages: REAL_QUERIES,
      memory,
      scope: SCOPES[scope]!,
      clock,
      random,
    });
  const take = async (step: Step) => {
    if (step.do === "wait") return clock.advance(step.seconds * 1000);
    if (step.do === "restart") return void held.restart();
    if (step.do === "leave") {
      snapshots.delete(step.cluster);
      return void (await inTurns(clock, held.gateway.leave(step.cluster)));
    }
    const clusterId = "to" in step ? step.to.clusterId : step.cluster;
    const isLive = held.gateway.state.live.has(clusterId);
    const known = isLive ? snapshots.get(clusterId) : undefined;
    if (!("to" in step))
      return void (
        known &&
        (await inTurns(clock, held.gateway.renew(clusterId, known.generation, { leaseSeconds: 600 })))
      );
    const terms = { leaseSeconds: 600 };
    const pushing =
      step.do === "put" || known === undefined
        ? putSnapshot(held.gateway, step.to, terms)
        : patchCluster(
            held.gateway,
            clusterId,
            known.generation,
            diffSnapshots(known.snapshot, step.to)!,
            terms,
          );
    const { generation } = await inTurns(clock, pushing);
    snapshots.set(clusterId, { snapshot: step.to, generation });
  };
  return { clock, held, sources, open, take, random };
}

it("a reader answers as its primary does, whatever clusters do and in which order responses come, in each scope and view", async () => {
  let [compared, fetched] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), fc.nat(), async (steps, seed) => {
      const { clock, held, sources, open, take, random } = openWorld(seed);
      const readers = SCOPES.map((_, scope) => open(scope));
      const names = new Set(["nothing.clusterset.local", "nothing.nothing.svc.clusterset.local"]);
      for (const step of steps) {
        await take(step);
        // One follows, one begins anew and finds what the other one left in the cache of their location.
        if (random() < 0.3) readers[0] = open(0);
        const all = held.gateway.everything.current();
        for (const name of all === undefined ? [] : namesOf(all.world)) if (names.size < 400) names.add(name);
        for (const [index, scope] of SCOPES.entries()) {
          const reader = readers[index]!;
          reader.expire(clock.now());
          await passUntil(clock, reader.freshen(clock.now()) ?? Promise.resolve());
          expect(reader.status().transferError).toBeUndefined();
          const within = held.gateway.within(scope);
          for (const view of [undefined, ...CLUSTERS, "region:eu"]) {
            if (view !== undefined && !view.includes(":")) {
              const has = within.hasCluster(view);
              expect(reader.hasCluster(view)).toBe(has);
              if (!has) continue;
            }
            const some = [...names].filter(() => random() < 0.3);
            const queries = some.flatMap((name) => TYPES.map((type) => ({ name, type })));
            // All at once: they wait for each other's parts.
            const answers = queries.map(({ name, type }) =>
              reader.answer(encodeQuery(name, type), view, clock.now()),
            );
            const given = await passUntil(clock, Promise.all(answers));
            for (const [at, { name, type }] of queries.entries()) {
              const expected = answerNow(within, encodeQuery(name, type), view, clock.now());
              compared++;
              if (Buffer.compare(expected.bytes, given[at]!.bytes) === 0) continue;
              // In a scope the serial is the time of an answer, or of the state that it is from.
              const seen = (bytes: Uint8Array) =>
                JSON.stringify(decode(bytes)).replace(index === 0 ? /^$/ : /(SOA \S+ \S+) \d+/, "$1");
              const of = { scope, view, name, type };
              expect({ ...of, seen: seen(given[at]!.bytes) }).toEqual({ ...of, seen: seen(expected.bytes) });
            }
          }
        }
      }
      fetched += sources.reduce((sum, { parts }) => sum + parts.length, 0);
      held.database.close();
    }),
    { numRuns: 20 },
  );
  expectMet(compared, 20_000);
  expectMet(fetched, 1000);
});

it("a reader forgets what a cluster that left had, also when the cluster comes back without it", async () => {
  const { clock, held, open, take } = openWorld(1);
  const reader = open(0);
  const put = (to: ClusterSnapshot) => take({ do: "put", to });
  const web = (address: string) => exported({ headless: true, endpoints: endpoints({ address }) });
  const agree = async () => {
    reader.expire(clock.now());
    await passUntil(clock, reader.freshen(clock.now()) ?? Promise.resolve());
    for (const [name, type, view] of [
      ["1.0.0.10.in-addr.arpa", "PTR", undefined],
      ["east.shop.svc.clusterset.local", "A", "west"],
    ] as const) {
      const query = encodeQuery(name, type);
      const expected = answerNow(held.gateway.everything, query, view, clock.now());
      const found = await passUntil(clock, Promise.resolve(reader.answer(query, view, clock.now())));
      expect(decode(found!.bytes)).toEqual(decode(expected.bytes));
    }
  };
  const imports = { "shop/web": imported({ ips: ["10.0.0.1"] }) };
  await put(snapshot("east", { exports: { "shop/east": web("10.0.0.9") }, imports }));
  await put(snapshot("west", { exports: { "shop/web": web("10.0.0.1") } }));
  await agree();
  await take({ do: "leave", cluster: "west" });
  await put(snapshot("west", { namespaces: {} }));
  await agree();
  held.database.close();
});
