import fc from "fast-check";
import { expect, it } from "vitest";
import { claimedAddresses } from "../../../src/database/claims.ts";
import { Kind } from "../../../src/database/places.ts";
import { Reader } from "../../../src/database/reader.ts";
import { Writer } from "../../../src/database/writer.ts";
import { formatReverseName } from "../../../src/dns/reverse.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { KeyedGateway } from "../../../src/gateway/keyed/keyed-gateway.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { notReady } from "../../../src/resolve/error-responses.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { createMemoryRememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import { DRIVERS } from "../../database/databases.ts";
import { NOON, patchLines, stage, wholeLines } from "../../database/pushing.ts";
import { interestingNames } from "../../names/interesting-names.ts";
import { expectMet } from "../../property-share.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { diffSnapshots } from "../../snapshot/diff-snapshots.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { FakeClock } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";
import { realStages } from "../real-stages.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [{}, { clusters: ["east", "west"] }, { namespaces: ["shop"] }];
const TYPES = ["A", "AAAA", "SRV", "CNAME", "TXT", "PTR"];
const TERMS = { lease: 60_000, degraded: [], instance: undefined };

type Step =
  | { readonly do: "put" | "patch"; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly cluster: string }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "restart" };

const cluster = fc.constantFrom(...CLUSTERS);
const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("put" as const, "patch" as const),
      to: arbitrarySnapshot(cluster),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("renew" as const, "leave" as const), cluster }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(1, 20, 45, 400) }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "restart" }) },
);

/** A gateway of generations, the oracle, and one of keys, which get the same requests. */
class Both {
  readonly clock = new FakeClock(NOON);
  readonly #store = createMemoryStore();
  readonly #remembered = createMemoryRememberedStore();
  readonly #database = DRIVERS[0]![1]();
  readonly #held = new Map<
    string,
    { readonly snapshot: ClusterSnapshot; readonly old: number; readonly now: number }
  >();
  #writer = new Writer(this.#database, () => expect.unreachable());
  hasRestarted = false;
  /** The services for which clusters ever reported an address, by its reverse name. */
  readonly #claims = new Map<string, Set<string>>();
  old!: Gateway<Generation>;
  now!: KeyedGateway;

  async start(): Promise<void> {
    const opening = Gateway.open({
      store: this.#store,
      remembered: this.#remembered,
      clock: this.clock,
      scopes: SCOPES,
      stages: realStages(),
      limits: { pushDelaySeconds: 1e6 },
      onEvent: (event) => {
        if (event.event === "compile-failed") throw event.error;
      },
    });
    await this.clock.advance(0);
    this.old = await opening;
    this.#writer = new Writer(this.#database, () => expect.unreachable());
    this.now = new KeyedGateway({
      writer: this.#writer,
      reader: new Reader(this.#database, () => expect.unreachable()),
      clock: this.clock,
      settings: { zones: { ttl: 30 }, merging: {} },
      scopes: SCOPES,
    });
  }

  async take(step: Step): Promise<void> {
    if (step.do === "wait") await this.clock.advance(step.seconds * 1000);
    else if (step.do === "restart") {
      await this.old.close();
      await this.start();
      this.hasRestarted = true;
    } else if (step.do === "leave") {
      await this.#settled(this.old.leave(step.cluster));
      this.now.leave(step.cluster);
      this.#held.delete(step.cluster);
    } else {
      const clusterId = "to" in step ? step.to.clusterId : step.cluster;
      const held = this.#isLive(clusterId) ? this.#held.get(clusterId) : undefined;
      if (!("to" in step)) {
        if (held === undefined) return;
        await this.#settled(this.old.renew(clusterId, held.old));
        this.now.renew(clusterId, held.now, TERMS);
        return;
      }
      const patch =
        step.do === "patch" && held !== undefined ? diffSnapshots(held.snapshot, step.to) : undefined;
      this.#report(step.to);
      if (patch === undefined) {
        const { generation: old } = await this.#settled(putSnapshot(this.old, step.to));
        const staged = stage(this.#writer.reader, clusterId, "whole", wholeLines(step.to));
        this.#held.set(clusterId, { snapshot: step.to, old, now: this.now.push(staged, TERMS).generation });
      } else {
        const { generation: old } = await this.#settled(patchCluster(this.old, clusterId, held!.old, patch));
        const staged = stage(this.#writer.reader, clusterId, "changes", patchLines(clusterId, patch));
        const { generation: now } = this.now.push(staged, TERMS, held!.now);
        expect(now).toBeGreaterThan(held!.now);
        this.#held.set(clusterId, { snapshot: step.to, old, now });
      }
    }
    await this.clock.advance(0);
  }

  /** Whether the address of a reverse name was claimed for several services: which of them has it, `reverse-order.test.ts` says. */
  isContested(name: string): boolean {
    return [...this.#claims].some(
      ([reverse, claims]) =>
        claims.size > 1 && reverse.endsWith(name.toLowerCase().replace(/^nothing\./, "")),
    );
  }

  #report({ clusterId, ...snapshot }: ClusterSnapshot): void {
    for (const [kind, table] of [
      [Kind.export, "exports"],
      [Kind.import, "imports"],
      [Kind.service, "services"],
    ] as const)
      for (const [key, entry] of Object.entries(snapshot[table]))
        for (const hex of claimedAddresses(kind, entry)) {
          const name = formatReverseName(Buffer.from(hex, "hex")).slice(0, -1);
          const claims = this.#claims.get(name) ?? new Set();
          this.#claims.set(name, claims.add(`${clusterId} ${kind === Kind.service} ${key}`));
        }
  }

  close(): void {
    this.#database.close();
  }

  #isLive(clusterId: string): boolean {
    return this.old.status().clusters.some((one) => one.clusterId === clusterId && one.live);
  }

  async #settled<Result>(promise: Promise<Result>): Promise<Result> {
    await this.clock.advance(0);
    return promise;
  }
}

it("any sequence of pushes, lease ends, departures and restarts is answered as by a gateway that compiles everything, in each scope and view", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryStep, { minLength: 3, maxLength: 12 }), async (steps) => {
      const both = new Both();
      await both.start();
      const names = new Set(["nothing.clusterset.local"]);
      for (const step of steps) {
        await both.take(step);
        const now = both.clock.now();
        for (const scope of SCOPES) {
          const within = both.old.within(scope);
          const served = within.current(now);
          const answers = both.now.answersIn(scope, now);
          // Only the database knows after a restart that the last clusters left on purpose.
          const isEmpty = both.hasRestarted && served === undefined && answers !== undefined;
          if (isEmpty && within.status().clusters.length === 0) continue;
          // And that others did not leave: their leases ended.
          const hasExpired = CLUSTERS.some((one) => both.now.hasCluster(one) && !both.old.hasCluster(one));
          if (both.hasRestarted && hasExpired && answers === undefined) continue;
          expect(answers === undefined).toBe(served === undefined);
          for (const zone of served?.generation.frame.zones ?? [])
            for (const view of [undefined, ...CLUSTERS])
              try {
                for (const { name } of listRecords(served!.generation, { zone: zone.name, view }))
                  for (const one of interestingNames([name])) names.add(one);
              } catch {
                // The zone is not one of this view.
              }
          if (answers !== undefined) answers.world.serial = served!.generation.serial;
          for (const view of [undefined, ...CLUSTERS]) {
            // Only the database knows after a restart whose lease ended.
            if (view !== undefined && !both.hasRestarted)
              expect(both.now.hasCluster(view)).toBe(both.old.hasCluster(view));
            if (view !== undefined && !within.hasCluster(view)) continue;
            for (const name of names) {
              if (name.toLowerCase().endsWith(".arpa") && both.isContested(name)) continue;
              for (const type of TYPES) {
                const query = encodeQuery(name, type);
                const expected = within.answer(query, view, now)!;
                const actual =
                  answers === undefined
                    ? notReady(query, {})!
                    : resolve(query, {
                        generation: answers.world,
                        leases: answers.leases,
                        view,
                        now,
                        rotation: 0,
                        outside: "refuse",
                      })!;
                compared++;
                if (Buffer.compare(expected.bytes, actual.bytes) !== 0)
                  expect({ scope, view, name, type, ...decode(actual.bytes) }).toEqual({
                    scope,
                    view,
                    name,
                    type,
                    ...decode(expected.bytes),
                  });
              }
            }
          }
        }
      }
      await both.old.close();
      both.close();
    }),
    { numRuns: 20 },
  );
  expectMet(compared, 20_000);
});
