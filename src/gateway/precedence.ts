import * as z from "zod";
import type { SetBack } from "../merge/declaration.ts";
import type { Remembered } from "../merge/merge.ts";
import { isClusterId } from "../snapshot/cluster-id.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import type { PrecedenceStore } from "../store/precedence-store.ts";

/** No ServiceExport is older: KEP-1645 is of 2020. */
export const FIRST_SERVICE_EXPORT = Date.UTC(2020, 0, 1);
/** How far the clocks of a cluster and of the gateway may be apart, in milliseconds. */
export const CLOCK_TOLERANCE = 300_000;
/** How long after the gateway began nothing speaks against what clusters tell, in milliseconds. Later a newcomer counts from now. */
export const FOUNDING = 86_400_000;
/** Exports, and imports, that a cluster had once and are remembered. */
const MOST_ABSENT = 1000;

const BEGAN = "@began";
const Began = z.strictObject({ at: z.number() });
const Known = z.strictObject({
  heardAt: z.number(),
  /** By `<namespace>/<name>`: the creation time that was told, and the instant that counts. */
  exports: z.record(z.string(), z.tuple([z.string(), z.number()])),
  /** By `<namespace>/<name>`: when the import was heard of first. */
  imports: z.record(z.string(), z.number()),
});

interface Export {
  readonly told: string;
  readonly counts: number;
}

interface KnownCluster {
  heardAt: number;
  exports: Map<string, Export>;
  imports: Map<string, number>;
  /** What was looked at last: the same objects hold nothing new. */
  looked?: Pick<ClusterSnapshot, "exports" | "imports">;
  setBack: ReadonlyMap<string, SetBack>;
}

/**
 * Remembers when exports were heard of first, so that no cluster can claim to have been there before (SECURITY.md,
 * Creation times). What a cluster tells is believed where nothing speaks against it; otherwise the export counts from when it was
 * heard of. After its
 * first day the instant of an export never moves into the past.
 */
export class Precedence implements Remembered {
  readonly #store: PrecedenceStore;
  readonly #clusters = new Map<string, KnownCluster>();
  readonly #beganAt: number;

  private constructor(store: PrecedenceStore, beganAt: number) {
    this.#store = store;
    this.#beganAt = beganAt;
  }

  /** Loads what is remembered; where that is nothing, the gateway begins now. @param now Unix milliseconds */
  static async open(store: PrecedenceStore, now: number): Promise<Precedence> {
    const texts = await store.load();
    const began = Began.safeParse(parse(texts.get(BEGAN)));
    if (!began.success) await store.keep(BEGAN, JSON.stringify({ at: now }));
    const precedence = new Precedence(store, began.success ? began.data.at : now);
    for (const [clusterId, text] of texts) {
      const known = isClusterId(clusterId) ? Known.safeParse(parse(text)) : undefined;
      if (known?.success !== true) continue;
      const { heardAt, exports, imports } = known.data;
      const seen = Object.entries(exports).map(([key, [told, counts]]) => [key, { told, counts }] as const);
      precedence.#clusters.set(
        clusterId,
        withSetBack({
          heardAt,
          exports: new Map(seen),
          imports: new Map(Object.entries(imports)),
          setBack: new Map(),
        }),
      );
    }
    return precedence;
  }

  /** Whether a cluster was heard before, in this life of the gateway or an earlier one. */
  knows(clusterId: string): boolean {
    return this.#clusters.has(clusterId);
  }

  /** A cluster said that nothing changed. */
  heard(clusterId: string, now: number): void {
    const known = this.#clusters.get(clusterId);
    if (known !== undefined) known.heardAt = Math.max(known.heardAt, now);
  }

  /** Keeps when a cluster was heard last, which its snapshot does not tell any more. */
  async parted(clusterId: string): Promise<void> {
    const known = this.#clusters.get(clusterId);
    if (known === undefined) return;
    // Nobody else needs that part of the snapshot any more, and it may be large.
    delete known.looked;
    await this.#store.keep(clusterId, write(known));
  }

  /** Looks at what a cluster exports. Resolves when it is kept. */
  async look({ clusterId, exports, imports }: ClusterSnapshot, now: number): Promise<void> {
    // A clock that stands there has not been set yet: nothing can be told from it.
    if (now < FIRST_SERVICE_EXPORT) return;
    const known = this.#clusters.get(clusterId);
    if (known !== undefined && known.looked?.exports === exports && known.looked.imports === imports) {
      known.heardAt = Math.max(known.heardAt, now);
      return;
    }
    const isFounding = now - this.#beganAt <= FOUNDING;
    const notBefore = known?.heardAt ?? now;
    const next = new Map<string, Export>();
    for (const key of Object.keys(exports)) {
      const told = exports[key]!.exportedAt;
      const before = known?.exports.get(key);
      if (before?.told === told) next.set(key, before);
      else if (before === undefined && !isFounding)
        next.set(key, { told, counts: judge(told, now, notBefore) });
      else {
        const counts = judge(told, now, Number.NEGATIVE_INFINITY);
        next.set(key, { told, counts: isFounding ? counts : Math.max(before!.counts, counts) });
      }
    }
    const imported = new Map(
      Object.keys(imports).map((key) => [key, known?.imports.get(key) ?? now] as const),
    );
    const cluster = withSetBack({
      heardAt: now,
      exports: withAbsent(known?.exports, next),
      imports: withAbsent(known?.imports, imported),
      looked: { exports, imports },
      setBack: new Map(),
    });
    const isNew =
      known === undefined ||
      !sameExports(known.exports, cluster.exports) ||
      known.imports.size !== cluster.imports.size ||
      [...cluster.imports.keys()].some((key) => !known.imports.has(key));
    if (isNew) await this.#store.keep(clusterId, write(cluster));
    this.#clusters.set(clusterId, cluster);
  }

  /** The exports of a cluster whose told creation time does not count, by `<namespace>/<name>`. */
  setBack(clusterId: string): ReadonlyMap<string, SetBack> | undefined {
    return this.#clusters.get(clusterId)?.setBack;
  }

  /** When what a cluster imports was heard of first, by `<namespace>/<name>`, in Unix milliseconds. */
  importedSince(clusterId: string): ReadonlyMap<string, number> | undefined {
    return this.#clusters.get(clusterId)?.imports;
  }
}

/** The instant from which an export counts that is heard of now. @param notBefore when it was known not to be there */
function judge(told: string, now: number, notBefore: number): number {
  const at = Date.parse(told);
  return at >= FIRST_SERVICE_EXPORT && at <= now + CLOCK_TOLERANCE && at >= notBefore - CLOCK_TOLERANCE
    ? at
    : now;
}

/** What is there, and behind it some of what was. */
function withAbsent<Entry>(
  before: ReadonlyMap<string, Entry> | undefined,
  now: ReadonlyMap<string, Entry>,
): Map<string, Entry> {
  const absent = [...(before ?? [])].filter(([key]) => !now.has(key));
  return new Map([...absent.slice(-MOST_ABSENT), ...now]);
}

function withSetBack(cluster: KnownCluster): KnownCluster {
  const setBack = new Map<string, SetBack>();
  for (const [key, { told, counts }] of cluster.exports) {
    const at = Date.parse(told);
    if (at === counts) continue;
    const because = at < FIRST_SERVICE_EXPORT ? "impossible" : at > counts ? "future" : "unheard";
    setBack.set(key, { counts, because });
  }
  cluster.setBack = setBack;
  return cluster;
}

function sameExports(one: ReadonlyMap<string, Export>, other: ReadonlyMap<string, Export>): boolean {
  if (one.size !== other.size) return false;
  for (const [key, { told, counts }] of one) {
    const same = other.get(key);
    if (same?.told !== told || same.counts !== counts) return false;
  }
  return true;
}

function write({ heardAt, exports, imports }: KnownCluster): string {
  const list = Array.from(exports, ([key, { told, counts }]) => [key, [told, counts]]);
  return JSON.stringify({ heardAt, exports: Object.fromEntries(list), imports: Object.fromEntries(imports) });
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    // Without it a cluster is a newcomer: nothing can be gained by damage.
    return undefined;
  }
}
