import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import { AnsweringState } from "../../src/gateway/answering-state.ts";
import type { ScopedGateway } from "../../src/gateway/scoped-gateway.ts";
import { openDatabase, openForReading } from "../../src/hosts/node/database.ts";
import type { Visibility } from "../../src/merge/visibility.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { NOON } from "../database/pushing.ts";
import { interestingNames } from "../names/interesting-names.ts";
import { expectMet } from "../property-share.ts";
import { decode, encodeQuery } from "../resolve/ask.ts";
import { diffSnapshots } from "../snapshot/diff-snapshots.ts";
import { arbitrarySnapshot } from "../worlds/arbitrary.ts";
import { FakeClock } from "./fake-clock.ts";
import { patchCluster, putSnapshot } from "./open-gateway.ts";
import { openKeyed, REAL_QUERIES } from "./open-keyed.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [{}, { clusters: ["east", "west"] }, { namespaces: ["shop"] }];

type Step = (
  | { readonly do: "put" | "patch"; readonly to: ClusterSnapshot }
  | { readonly do: "renew" | "leave"; readonly cluster: string }
  | { readonly do: "wait"; readonly seconds: number }
) & {
  /** Whether the other connection follows after it: otherwise it answers from what it has. */
  readonly follows: boolean;
};

const cluster = fc.constantFrom(...CLUSTERS);
const follows = fc.boolean();
const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("put" as const, "patch" as const),
      to: arbitrarySnapshot(cluster),
      follows,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("renew" as const, "leave" as const), cluster, follows }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      seconds: fc.constantFrom(1, 20, 45, 400),
      follows,
    }),
  },
);

/** A gateway, and what another connection to its file answers from, as a thread has it. */
class Pair {
  readonly clock = new FakeClock(NOON);
  readonly #folder = mkdtempSync(join(tmpdir(), "followers-"));
  readonly #database = openDatabase(join(this.#folder, "state.db"));
  readonly #reading = openForReading(join(this.#folder, "state.db"));
  readonly gateway = openKeyed({
    database: this.#database,
    clock: this.clock,
    scopes: SCOPES,
    clusterIds: CLUSTERS,
  });
  readonly follower = new AnsweringState({
    reader: new Reader(this.#reading, () => expect.unreachable()),
    clock: this.clock,
    names: { zones: { ttl: 30 }, merging: {} },
    queries: REAL_QUERIES,
    scopes: SCOPES,
    clusterIds: CLUSTERS,
    serial: () => this.gateway.state.serial,
  });
  readonly #held = new Map<string, ClusterSnapshot>();

  async take(step: Step): Promise<void> {
    if (step.do === "wait") await this.clock.advance(step.seconds * 1000);
    else if (step.do === "leave") await this.#done(this.gateway.leave(step.cluster));
    else {
      const id = "to" in step ? step.to.clusterId : step.cluster;
      const generation = this.gateway.state.live.get(id)?.generation;
      const held = this.#held.get(id);
      if ("to" in step) this.#held.set(id, step.to);
      if (!("to" in step)) {
        if (generation !== undefined) await this.#done(this.gateway.renew(id, generation));
      } else if (step.do === "patch" && generation !== undefined) {
        const patch = diffSnapshots(held!, step.to) ?? {};
        await this.#done(patchCluster(this.gateway, id, generation, patch));
      } else await this.#done(putSnapshot(this.gateway, step.to));
    }
  }

  close(): void {
    this.#reading.close();
    this.#database.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #done<Result>(promise: Promise<Result>): Promise<Result> {
    await this.clock.advance(0);
    return promise;
  }
}

function* namesIn({ clusterId, exports }: ClusterSnapshot): Generator<string> {
  for (const key of Object.keys(exports)) {
    const [namespace, name] = key.split("/");
    const service = `${name}.${namespace}.svc.clusterset.local`;
    yield* interestingNames([service, `${clusterId}.${service}`]);
  }
}

it("a connection that follows answers as the gateway that writes, in each scope and view, whatever it answered before", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryStep, { minLength: 3, maxLength: 12 }), async (steps) => {
      const pair = new Pair();
      const names = new Set(["nothing.clusterset.local"]);
      for (const step of steps) {
        await pair.take(step);
        if ("to" in step) for (const name of namesIn(step.to)) names.add(name);
        if (step.follows) pair.follower.follow();
        const now = pair.clock.now();
        for (const scope of SCOPES) {
          const [own, other] = [pair.gateway.within(scope), pair.follower.within(scope)];
          if (step.follows) expect(knownOf(other)).toEqual(knownOf(own));
          for (const view of [undefined, ...CLUSTERS])
            for (const name of names)
              for (const type of ["A", "SRV"]) {
                const query = encodeQuery(name, type);
                const answer = other.answer(query, view, now)!;
                if (!step.follows) continue;
                compared++;
                const expected = own.answer(query, view, now)!;
                if (Buffer.compare(answer.bytes, expected.bytes) !== 0)
                  expect({ scope, view, name, ...decode(answer.bytes) }).toEqual({
                    scope,
                    view,
                    name,
                    ...decode(expected.bytes),
                  });
              }
        }
      }
      pair.close();
    }),
    { numRuns: 20 },
  );
  expectMet(compared, 20_000);
});

/** What answers say of clusters beside records. */
function knownOf(gateway: ScopedGateway): object {
  const { ready, stateHash, clusters, neverSeen } = gateway.status();
  const views = CLUSTERS.map((id) => gateway.hasCluster(id));
  return { ready, stateHash, clusters, neverSeen, views };
}
