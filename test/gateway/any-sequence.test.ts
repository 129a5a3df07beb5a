import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import type { Steps } from "../../src/dns/steps.ts";
import { AnsweringState } from "../../src/gateway/answering-state.ts";
import type { Gateway } from "../../src/gateway/gateway.ts";
import type { Acknowledgement, ScopedGateway } from "../../src/gateway/gateway-types.ts";
import { surveyOf } from "../../src/gateway/survey.ts";
import { openDatabase, openForReading } from "../../src/hosts/node/database.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import { DatabaseEntries } from "../../src/names/database-entries.ts";
import type { KeyEntries } from "../../src/names/entries.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import type { Leases } from "../../src/resolve/record-writer.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { NOON } from "../database/pushing.ts";
import { RankedRows } from "../names/entries-of.ts";
import { namesOf } from "../names/interesting-names.ts";
import { expectMet } from "../property-share.ts";
import { decode, encodeQuery, leasesUntil } from "../resolve/ask.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitraryStep, type Step } from "../worlds/steps.ts";
import { FakeClock } from "./fake-clock.ts";
import { patchCluster, putSnapshot } from "./open-gateway.ts";
import { answerNow, openKeyed, REAL_QUERIES } from "./open-keyed.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [{}, { clusters: ["east", "west"] }, { namespaces: ["shop"] }];
const VIEWS = [undefined, ...CLUSTERS];
const TYPES = ["A", "AAAA", "SRV", "CNAME", "TXT", "PTR"];

/** In the end all clusters have left: the zone is empty. */
const anySteps = fc
  .array(arbitraryStep(CLUSTERS, 1, 20, 45, 400), { minLength: 3, maxLength: 12 })
  .map((steps): Step[] => [...steps, ...CLUSTERS.map((cluster) => ({ do: "leave" as const, cluster }))]);

/** What a cluster pushed last, and when its lease expires. */
interface Held extends Acknowledgement {
  readonly snapshot: ClusterSnapshot;
}

/**
 * A gateway, what its clusters did, and what another connection to its file answers from, as a thread has it.
 */
class Course {
  readonly clock = new FakeClock(NOON);
  readonly #folder = mkdtempSync(join(tmpdir(), "any-sequence-"));
  readonly #database = openDatabase(join(this.#folder, "state.db"));
  readonly #reading = openForReading(join(this.#folder, "state.db"));
  readonly #reader = new Reader(this.#database, () => expect.unreachable());
  /** By cluster, also where its lease expired. */
  readonly held = new Map<string, Held>();
  /** Clusters that left after they had pushed. */
  readonly #left = new Set<string>();
  gateway = this.#open();
  follower = this.#follow();

  async take(step: Step): Promise<void> {
    if (step.do === "wait") await this.clock.advance(step.seconds * 1000);
    else if (step.do === "restart") {
      await this.gateway.close();
      this.gateway = this.#open();
      this.follower = this.#follow();
    } else if (step.do === "leave") {
      await this.done(this.gateway.leave(step.cluster));
      if (this.held.delete(step.cluster)) this.#left.add(step.cluster);
    } else if (step.do === "renew") {
      const held = this.held.get(step.cluster);
      if (held === undefined) return;
      const acknowledged = await this.done(this.gateway.renew(step.cluster, held.generation));
      this.held.set(step.cluster, { ...held, ...acknowledged });
    } else await this.#push(step.to, step.do === "patch");
  }

  /** What a gateway would answer from that compiles everything now; undefined where no name may be denied. */
  expectedIn(scope: Visibility): KeyWorld | undefined {
    const held = [...this.held.values()].filter(({ clusterId }) => has(scope, clusterId));
    const live = held.filter(({ clusterId }) => this.#isLive(clusterId));
    const haveAllLeft = held.length === 0 && [...this.#left].some((id) => has(scope, id));
    if (live.length === 0 && !haveAllLeft) return undefined;
    const [snapshots, lapsed] = [live, held.filter((one) => !live.includes(one))].map((some) =>
      some.map(({ snapshot }) => snapshot),
    );
    const entries = new EntriesWithLapsed(snapshots!, scope, this.#reader, lapsed!);
    return new KeyWorld(entries, { ttl: 30 }, {}, new Map());
  }

  leases(): Leases {
    return leasesUntil((id) => (this.#isLive(id) ? this.held.get(id)!.expiresAt : undefined));
  }

  async done<Result>(promise: Promise<Result>): Promise<Result> {
    await this.clock.advance(0);
    return promise;
  }

  close(): void {
    this.#reading.close();
    this.#database.close();
    rmSync(this.#folder, { recursive: true });
  }

  #open(): Gateway {
    return openKeyed({ database: this.#database, clock: this.clock, scopes: SCOPES });
  }

  #follow(): AnsweringState {
    const follower = new AnsweringState({
      reader: new Reader(this.#reading, () => expect.unreachable()),
      clock: this.clock,
      names: { zones: { ttl: 30 }, merging: {}, charactersInPlace: 0 },
      queries: REAL_QUERIES,
      scopes: SCOPES,
      serial: () => this.gateway.state.serial,
    });
    follower.follow();
    return follower;
  }

  async #push(to: ClusterSnapshot, isPatch: boolean): Promise<void> {
    const { clusterId } = to;
    const held = this.held.get(clusterId);
    const patch = isPatch && held !== undefined ? diffSnapshots(held.snapshot, to) : undefined;
    const pushing =
      patch === undefined
        ? putSnapshot(this.gateway, to)
        : patchCluster(this.gateway, clusterId, held!.generation, patch);
    const acknowledged = await this.done(pushing);
    if (held !== undefined) expect(acknowledged.generation).toBeGreaterThan(held.generation);
    this.held.set(clusterId, { ...acknowledged, snapshot: to });
    this.#left.delete(clusterId);
  }

  #isLive(clusterId: string): boolean {
    return (this.held.get(clusterId)?.expiresAt ?? 0) > this.clock.now();
  }
}

/**
 * From when entries count, and which cluster reported an address first, is what the database says: others
 * look at that, `precedence.test.ts` and `reverse-property.test.ts`.
 */
class RowsAsRanked extends RankedRows {
  readonly #reader: Reader;

  constructor(snapshots: readonly ClusterSnapshot[], reader: Reader) {
    super(snapshots, (clusterId, kind, name) => reader.entry(clusterId, kind, name)?.counts);
    this.#reader = reader;
  }

  override claimsIn(bucket: string) {
    return this.#reader.claimsIn(bucket);
  }
}

/** Exports of clusters whose lease expired keep services from others still. */
class EntriesWithLapsed extends DatabaseEntries {
  readonly #lapsed: readonly ClusterSnapshot[];
  readonly #scope: Visibility;

  constructor(
    live: readonly ClusterSnapshot[],
    scope: Visibility,
    reader: Reader,
    lapsed: readonly ClusterSnapshot[],
  ) {
    const ids = live.map(({ clusterId }) => clusterId);
    super(new RowsAsRanked(live, reader), ids, createEntryFilter(scope));
    this.#lapsed = lapsed;
    this.#scope = scope;
  }

  override lapsedClusters(): readonly string[] {
    return this.#lapsed.map(({ clusterId }) => clusterId);
  }

  override *read(namespace: string, name: string): Steps<KeyEntries | undefined> {
    const lapsed = new Map(
      this.#lapsed.flatMap(({ clusterId, exports }) => {
        const clusters = exports[`${namespace}/${name}`]?.clusters;
        return clusters === undefined ? [] : [[clusterId, clusters.filter((id) => has(this.#scope, id))]];
      }),
    );
    const known = yield* super.read(namespace, name);
    return known && { ...known, lapsed };
  }
}

function has({ clusters }: Visibility, clusterId: string): boolean {
  return clusters?.includes(clusterId) !== false;
}

async function expectSurveyed(course: Course, within: ScopedGateway, expected: KeyWorld): Promise<void> {
  const { conflicts, findings, services } = (await course.done(within.survey()))!;
  const whole = surveyOf(expected);
  expect(conflicts).toEqual(whole.conflicts);
  expect(findings).toEqual(whole.findings);
  expect(services).toBe(whole.services);
}

function expectSame(found: Uint8Array, expected: Uint8Array, of: object): void {
  if (Buffer.compare(found, expected) === 0) return;
  expect({ ...of, ...decode(found) }).toEqual({ ...of, ...decode(expected) });
}

/** What a gateway answers of clusters beside records. */
function knownOf(gateway: ScopedGateway): object {
  const { ready, stateHash, clusters, neverSeen } = gateway.status();
  return { ready, stateHash, clusters, neverSeen, views: CLUSTERS.map((id) => gateway.hasCluster(id)) };
}

it("any sequence of pushes, lease ends, returns, departures and restarts is answered as by a gateway that compiles everything, in each scope and view, and by a connection that follows and compiles all in turns", async () => {
  let [compared, emptied] = [0, 0];
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      const course = new Course();
      const names = new Set(["nothing.clusterset.local"]);
      for (const [index, step] of steps.entries()) {
        await course.take(step);
        // Otherwise it answers from what it has, and keeps what it compiles.
        const follows = index % 3 < 2;
        if (follows) course.follower.follow();
        const now = course.clock.now();
        const leases = course.leases();
        for (const scope of SCOPES) {
          const within = course.gateway.within(scope);
          const follower = course.follower.within(scope);
          if (follows) {
            // Surveys count what exists in a scope.
            await course.done(Promise.all([follower.survey(), within.survey()]));
            expect(knownOf(follower)).toEqual(knownOf(within));
          }
          const expected = course.expectedIn(scope);
          const world = within.current(now)?.world;
          expect(world === undefined).toBe(expected === undefined);
          if (expected !== undefined) {
            await expectSurveyed(course, within, expected);
            if (expected.entries.clusters().length === 0) emptied++;
            expected.serial = world!.serial;
            for (const name of namesOf(expected)) names.add(name);
          }
          for (const view of VIEWS) {
            if (view !== undefined) {
              expect(within.hasCluster(view)).toBe(course.held.has(view) && has(scope, view));
              if (!within.hasCluster(view)) continue;
            }
            for (const name of names) {
              const answer = async (type: string) => {
                const query = encodeQuery(name, type);
                const { bytes } = answerNow(within, query, view, now);
                const inTurns = follower.answer(query, view, now);
                const { bytes: followed } = (await (inTurns instanceof Promise
                  ? course.done(inTurns)
                  : inTurns))!;
                if (follows) expectSame(followed, bytes, { view, name, type });
                return bytes;
              };
              for (const type of TYPES) {
                const query = encodeQuery(name, type);
                const bytes = await answer(type);
                const other =
                  expected === undefined
                    ? notReady(query, {})!
                    : resolve(query, {
                        world: expected,
                        leases,
                        view,
                        now,
                        rotation: 0,
                        outside: "refuse",
                      })!;
                compared++;
                expectSame(bytes, other.bytes, { scope, view, name, type });
              }
            }
          }
        }
      }
      course.close();
    }),
    { numRuns: 20 },
  );
  expectMet(compared, 20_000);
  expectMet(emptied, 8);
});
