import fc from "fast-check";
import { expect, test } from "vitest";
import type { DesiredImport, DesiredLine, DesiredSlice } from "../../../src/snapshot/desired-line.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { reconcileService, type Writes } from "../../../src/worker/control/reconcile.ts";
import { desiredImport, desiredSlice, linesOf, stateWith, take } from "./desired-lines.ts";
import { FakeCluster, nameOf } from "./fake-cluster.ts";

interface Event {
  readonly isGone: boolean;
  readonly object: ManagedObject;
}

/** A cluster whose watches report what was written before or after the writes are answered, in order. */
class LateCluster {
  readonly fake = new FakeCluster();
  readonly needless: string[] = [];
  /** Whether watches are faster than answers. */
  isEarly = false;
  readonly #late: Event[] = [];
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

  /** Somebody deletes an object. */
  lose(index: number): void {
    const object = [...this.fake.stored.values()][index];
    if (object === undefined) return;
    this.fake.stored.delete(nameOf(object));
    this.#gone(object);
  }

  deliver(count: number): void {
    for (const { isGone, object } of this.#late.splice(0, count))
      if (isGone) this.fake.objects.delete(object as never);
      else this.fake.objects.upsert(object as never);
  }

  get isQuiet(): boolean {
    return this.#late.length === 0 && this.fake.touched.size === 0;
  }

  #reported(object: ManagedObject): ManagedObject {
    this.#late.push({ isGone: false, object });
    if (this.isEarly) this.deliver(this.#late.length);
    return object;
  }

  #gone(object: ManagedObject): void {
    const resourceVersion = String(++this.#revision);
    this.#late.push({
      isGone: true,
      object: { ...object, metadata: { ...object.metadata, resourceVersion } },
    });
  }

  /** With the one revision that all objects of an API server have in common. */
  #numbered(object: ManagedObject): ManagedObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    const numbered = { ...object, metadata };
    this.fake.stored.set(nameOf(object), numbered);
    return numbered;
  }
}

const slices = fc.dictionary(
  fc.constantFrom("v4-0", "v4-1"),
  fc.constantFrom("10.1.0.1", "10.1.0.2", "fd00::9"),
  { maxKeys: 2 },
);
const wanted = fc.record({ type: fc.constantFrom("ClusterSetIP", "Headless"), slices });
const step = fc.oneof(
  fc.record({ wanted: fc.option(wanted) }),
  fc.record({ deliver: fc.nat(8) }),
  fc.record({ lose: fc.nat(4) }),
  fc.record({ early: fc.boolean() }),
);

test("whenever watches report what was written, the desired state is reached, and without losses nothing is looked at again or written in vain (property)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const cluster = new LateCluster();
      cluster.fake.touched.clear();
      const state = stateWith([]);
      let lines: DesiredLine[] = [];
      const context = { ...cluster.fake.context(state), writes: cluster.writes };
      const reconcile = async () => {
        cluster.fake.touched.clear();
        await reconcileService(context, "shop/db");
      };
      for (const one of steps) {
        if ("wanted" in one) {
          lines = one.wanted === null ? [] : linesFor(one.wanted as Wanted);
          take(state, lines);
          await reconcile();
        } else if ("deliver" in one) {
          cluster.deliver(one.deliver);
          if (cluster.fake.touched.size > 0) await reconcile();
        } else if ("early" in one) cluster.isEarly = one.early;
        else cluster.lose(one.lose);
      }
      const isAlone = !steps.some((one) => "lose" in one);
      for (let rounds = 0; !cluster.isQuiet; rounds++) {
        expect(rounds).toBeLessThan(100);
        cluster.deliver(1);
        if (isAlone) expect([...cluster.fake.touched]).toEqual([]);
        if (cluster.fake.touched.size > 0) await reconcile();
      }
      if (isAlone) expect(cluster.needless).toEqual([]);
      const fresh = new FakeCluster();
      await reconcileService(fresh.context(stateWith(lines)), "shop/db");
      expect(shapeOf(cluster.fake)).toEqual(shapeOf(fresh));
    }),
    { numRuns: 300 },
  );
});

interface Wanted {
  readonly type: DesiredImport["type"];
  readonly slices: Readonly<Record<string, string>>;
}

function linesFor({ type, slices: addresses }: Wanted): DesiredLine[] {
  const desired = Object.fromEntries(
    Object.entries(addresses).map(([name, address]) => [name, desiredSlice(address)]),
  ) as Record<string, DesiredSlice>;
  return linesOf(desiredImport({ type }), desired);
}

/** All of an object but its versions. */
function contentOf({ metadata: { resourceVersion: _, ...metadata }, ...object }: ManagedObject): string {
  return JSON.stringify({ ...object, metadata });
}

/** Which objects there are, with what the desired state decides of them. */
function shapeOf({ stored }: FakeCluster): string[] {
  return [...stored.values()]
    .map((object) => {
      const { type } = (object.spec ?? {}) as { type?: string };
      const { endpoints, metadata } = object;
      return JSON.stringify([nameOf(object), type, endpoints, metadata.labels]);
    })
    .sort();
}
