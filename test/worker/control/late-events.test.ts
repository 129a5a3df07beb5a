import fc from "fast-check";
import { expect, test } from "vitest";
import type { DesiredImport, DesiredLine } from "../../../src/snapshot/desired-line.ts";
import { APPLIED, type ManagedObject } from "../../../src/worker/control/objects.ts";
import { reconcileService, type Writes } from "../../../src/worker/control/reconcile.ts";
import { desiredImport, desiredSlice, linesOf, stateWith, take } from "./desired-lines.ts";
import { FakeCluster, nameOf } from "./fake-cluster.ts";

/** A cluster whose watches report what was written before or after the writes are answered, in order. */
class LateCluster {
  readonly fake = new FakeCluster();
  readonly needless: string[] = [];
  /** Whether watches are faster than answers. */
  isEarly = false;
  /** What happens to the watches' objects later. */
  readonly #late: (() => void)[] = [];
  #revision = 1_000_000;

  readonly writes: Writes = {
    ...this.fake.writes,
    apply: async (object, signal, subresource) => {
      const before = this.fake.stored.get(nameOf(object));
      const after = this.#numbered(await this.fake.writes.apply(object, signal, subresource));
      if (before !== undefined && contentOf(before) === contentOf(after))
        this.needless.push(`apply ${nameOf(object)}${subresource === undefined ? "" : `/${subresource}`}`);
      return this.#reported(after);
    },
    applyNew: async (object, signal) => {
      const made = await this.fake.writes.applyNew(object, signal);
      return made && this.#reported(this.#numbered(made));
    },
    remove: async (object, signal) => {
      if (!this.fake.stored.has(nameOf(object))) this.needless.push(`delete ${nameOf(object)}`);
      await this.fake.writes.remove(object, signal);
      this.#gone(object);
    },
  };

  /** Somebody deletes an object, or empties it. */
  change(how: "lose" | "alter", index: number): void {
    const object = [...this.fake.stored.values()][index];
    if (object === undefined) return;
    if (how === "lose") {
      this.fake.stored.delete(nameOf(object));
      this.#gone(object);
      return;
    }
    const isSlice = object.kind === "EndpointSlice";
    const emptied = isSlice ? { endpoints: [] } : { spec: { ...(object.spec as object), ports: [] } };
    const metadata = { ...object.metadata, generation: (object.metadata.generation ?? 0) + 1 };
    this.#reported(this.#numbered({ ...object, ...emptied, metadata }));
  }

  deliver(count: number): void {
    for (const event of this.#late.splice(0, count)) event();
  }

  get isQuiet(): boolean {
    return this.#late.length === 0 && this.fake.touched.size === 0;
  }

  #reported(object: ManagedObject): ManagedObject {
    this.#late.push(() => this.fake.objects.upsert(object as never));
    if (this.isEarly) this.deliver(this.#late.length);
    return object;
  }

  #gone(object: ManagedObject): void {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    this.#late.push(() => this.fake.objects.delete({ ...object, metadata } as never));
  }

  /** With the one revision that all objects of an API server have in common. */
  #numbered(object: ManagedObject): ManagedObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    const numbered = { ...object, metadata };
    this.fake.stored.set(nameOf(object), numbered);
    return numbered;
  }
}

/** How writes fail, or which object somebody alters before one. */
interface Trouble {
  readonly failAt?: number;
  readonly alters?: { readonly index: number; readonly at: number };
}
type Step =
  | ({ readonly lines: readonly DesiredLine[] } & Trouble)
  | { readonly deliver: number }
  | { readonly lose: number }
  | { readonly early: boolean };

const slices = fc.dictionary(
  fc.constantFrom("v4-0", "v4-1", "v6-0"),
  fc.constantFrom("10.1.0.1", "10.1.0.2", "fd00::9").map((address) => desiredSlice(address)),
  { maxKeys: 3 },
);
const desired = fc.record({
  type: fc.constantFrom<DesiredImport["type"]>("ClusterSetIP", "Headless"),
  labels: fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom("1", "2")),
  clusters: fc.constantFrom<string[][]>(["a"], ["b"], ["a", "b"]),
});
const lines = fc
  .option(fc.tuple(desired, slices), { freq: 2 })
  .map((some) => (some === null ? [] : linesOf(desiredImport(some[0]), some[1])));
const calm: fc.Arbitrary<Step>[] = [
  fc.record({ lines }),
  fc.record({ deliver: fc.nat(8) }),
  fc.record({ early: fc.boolean() }),
];
const rough: fc.Arbitrary<Step>[] = [
  fc.record({ lines, failAt: fc.nat(6) }),
  fc.record({ lines, alters: fc.record({ index: fc.nat(4), at: fc.nat(6) }) }),
  fc.record({ lose: fc.nat(4) }),
];
const stepsOf = (kinds: readonly fc.Arbitrary<Step>[]) =>
  fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 12 });

test("any sequence of desired states, with writes that fail anywhere and others who change objects, whenever watches report what was written, ends in the last one; without these nothing is looked at again or written in vain (property)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(stepsOf(calm), stepsOf([...calm, ...rough])), async (steps) => {
      const cluster = new LateCluster();
      const { fake } = cluster;
      const isAlone = !steps.some((one) => "lose" in one || "failAt" in one || "alters" in one);
      fake.touched.clear();
      const state = stateWith([]);
      let wanted: readonly DesiredLine[] = [];
      const context = { ...fake.context(state), writes: cluster.writes };
      const reconcile = async () => {
        fake.touched.clear();
        await reconcileService(context, "shop/db");
      };
      const attempt = async ({ failAt, alters }: Trouble = {}) => {
        let writes = 0;
        fake.beforeWrite = () => {
          if (writes === failAt) throw new Error("the API server is gone");
          if (writes++ === alters?.at) cluster.change("alter", alters.index);
        };
        await reconcile().catch((error) => {
          if (isAlone) throw error;
        });
        fake.beforeWrite = () => {};
      };
      for (const one of steps) {
        if ("lines" in one) {
          wanted = one.lines;
          take(state, wanted);
          await attempt(one);
        } else if ("deliver" in one) {
          cluster.deliver(one.deliver);
          if (fake.touched.size > 0) await attempt();
        } else if ("early" in one) cluster.isEarly = one.early;
        else cluster.change("lose", one.lose);
      }
      const settle = async () => {
        for (let rounds = 0; !cluster.isQuiet; rounds++) {
          expect(rounds).toBeLessThan(100);
          cluster.deliver(1);
          if (isAlone) expect([...fake.touched]).toEqual([]);
          if (fake.touched.size > 0) await attempt();
        }
      };
      await settle();
      // What failed is tried again.
      if (steps.some((one) => "failAt" in one)) await reconcile();
      await settle();
      if (isAlone) expect(cluster.needless).toEqual([]);
      fake.log.length = 0;
      await reconcile();
      expect(fake.log).toEqual([]);
      const fresh = new FakeCluster();
      await reconcileService(fresh.context(stateWith(wanted)), "shop/db");
      expect(shapeOf(fake)).toEqual(shapeOf(fresh));
    }),
    { numRuns: 400 },
  );
});

/** All of an object but its versions. */
function contentOf({ metadata: { resourceVersion: _, ...metadata }, ...object }: ManagedObject): string {
  return JSON.stringify({ ...object, metadata });
}

/** Everything but what the API server makes up. */
function shapeOf({ stored }: FakeCluster): unknown {
  const text = JSON.stringify([...stored.values()], (key, value) =>
    key === "observedGeneration" ? undefined : value,
  );
  return (JSON.parse(text) as ManagedObject[])
    .map(({ metadata: { name, labels, annotations }, ...object }) => {
      const { clusterIPs: _1, ips: _2, ...spec } = (object.spec ?? {}) as Record<string, unknown>;
      const { [APPLIED]: _3, ...others } = annotations ?? {};
      return { ...object, spec, name, labels, annotations: others };
    })
    .sort((left, right) => (`${left.kind}${left.name}` < `${right.kind}${right.name}` ? -1 : 1));
}
