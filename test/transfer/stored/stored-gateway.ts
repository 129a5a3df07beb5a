import { setImmediate } from "node:timers/promises";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import { createMirroredStore } from "../../../src/store/remembered/mirrored-store.ts";
import { createTextTable } from "../../../src/store/remembered/text-table.ts";
import { createDurableObjectStore } from "../../../src/store/rows/durable-object-store.ts";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { Primary, type ScopeTransfer } from "../../../src/transfer/primary.ts";
import { Secondary } from "../../../src/transfer/secondary.ts";
import { resume } from "../../../src/transfer/stored/resume.ts";
import type { StoredGenerations } from "../../../src/transfer/stored/stored-generations.ts";
import type { TransferSource } from "../../../src/transfer/transfer-state.ts";
import type { SegmentWeights } from "../../../src/zone/compiler/compiler-state.ts";
import type { FakeClock } from "../../gateway/fake-clock.ts";
import { realCompiler, realStages } from "../../gateway/real-stages.ts";

/** Milliseconds after which a change that is not in the answers makes them stale. */
export const MOST_BEHIND = 5000;

interface StartOptions {
  readonly settings?: string;
  readonly scopes?: readonly Visibility[];
  readonly weights?: SegmentWeights;
  /** Whether it keeps notes, and goes on from those of the process before. Default: false */
  readonly resumes?: boolean;
}

/** What a process over a database begins with, as an object does: it is not opened yet. */
export function startOver(
  database: SqlDatabase,
  clock: FakeClock,
  { settings = "settings", scopes = [], weights, resumes = false }: StartOptions = {},
) {
  const damaged: string[] = [];
  const warnings: string[] = [];
  /** Why the scopes compile everything, see `compiles-everything`. */
  const reasons: string[] = [];
  const store = createDurableObjectStore(database, { onWarning: ({ code }) => warnings.push(code) });
  const { generations, starting } = resume(database, {
    ...{ settings, scopes, clock },
    metas: () => store.metas(),
    mostBehind: MOST_BEHIND,
    onDamage: ({ hash }) => damaged.push(hash),
  });
  const primary = new Primary(starting, () => clock.now());
  const load = ({ isHeld = false } = {}) =>
    Gateway.load({
      ...{
        store,
        generations,
        scopes,
        clock,
        stages: isHeld ? realStages() : storedStages(generations, weights, resumes),
        onEvent: (event) => {
          if (event.event === "compiles-everything") reasons.push(`${event.scope ?? ""}: ${event.because}`);
        },
      },
      remembered: createMirroredStore([createTextTable(database, "one"), createTextTable(database, "other")]),
    });
  const open = async (how?: Parameters<typeof load>[0]) => {
    const gateway = await passUntil(clock, load(how));
    await passUntil(clock, gateway.started);
    starting.open(gateway);
    for (const _ of generations.sweep());
    return gateway;
  };
  return { starting, generations, primary, load, open, damaged, warnings, reasons };
}

/** The stages of a gateway whose segments are in rows. */
function storedStages(generations: StoredGenerations, weights: SegmentWeights | undefined, resumes: boolean) {
  return {
    ...realStages(),
    createCompiler: (scope: string) =>
      realCompiler(
        { ttl: 30 },
        (segment) => generations.hold(segment),
        weights,
        resumes ? generations.notes(scope) : undefined,
      ),
  };
}

/** Waits for something, letting time pass as long as it takes: records are hashed outside of JavaScript. */
export async function passUntil<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  for (await setImmediate(); !settled; await setImmediate()) await clock.advance(1);
  return promise;
}

/** A secondary that has nothing yet, and holds everything it is answered from. */
export function secondaryOf(transfer: ScopeTransfer, clock: FakeClock): Secondary {
  const source: TransferSource = {
    state: async () => transfer.state(),
    root: async (hash) => {
      const part = transfer.root(hash, "");
      return part && { bytes: part.bytes, segments: [] };
    },
    segment: async (hash) => transfer.segment(hash, "")?.bytes,
  };
  return new Secondary({ source, stages: realStages(), clock });
}

/** The hashes of the parts that a database keeps. */
export function partsIn(database: SqlDatabase): string[] {
  const rows = database.sql.exec("SELECT DISTINCT hash FROM generation_parts ORDER BY hash").toArray();
  return rows.map(({ hash }) => String(hash));
}
