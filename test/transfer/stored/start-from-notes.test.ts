import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { Visibility } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import type { SqlDatabase, SqlValue } from "../../../src/store/rows/sql-database.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { expectMet } from "../../property-share.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { arbitrarySnapshot } from "../../worlds/arbitrary.ts";
import { passUntil, startOver } from "./stored-gateway.ts";

const CLUSTERS = ["east", "north", "west"];
const SCOPES: readonly Visibility[] = [{ clusters: ["east", "west"] }, { namespaces: ["shop"] }];
/** Nearly every leaf is read from its note again. */
const WEIGHTS = { names: 20, reverse: 2, held: 20 };
const OPTIONS: { readonly scopes: readonly Visibility[]; readonly weights: typeof WEIGHTS } = {
  scopes: SCOPES,
  weights: WEIGHTS,
};
/** Scopes that hide services count those of each cluster when they start, for which they read all. */
const ALONE = { scopes: [], weights: WEIGHTS };
const NOW = Date.UTC(2026, 0, 1);
const TABLES = ["cluster_rows", "generation_parts", "generation_notes", "generations", "one", "other"];

/** A process over a database that keeps notes, and goes on from those of the one before. */
const resume = (database: SqlDatabase, clock: FakeClock, options: typeof OPTIONS = OPTIONS) =>
  startOver(database, clock, { ...options, resumes: true });
/** A process over a copy of it that compiles everything. */
const compileAll = (database: SqlDatabase, clock: FakeClock) => startOver(database, clock, OPTIONS);

/** A database with the same rows. */
function copyOf(database: SqlDatabase): SqlDatabase {
  const copy = sqliteDouble();
  startOver(copy, new FakeClock(NOW)).load();
  for (const table of TABLES)
    for (const row of database.sql.exec(`SELECT * FROM ${table}`).toArray()) {
      const columns = Object.keys(row);
      const marks = columns.map(() => "?").join(", ");
      copy.sql.exec(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
        ...(Object.values(row) as SqlValue[]),
      );
    }
  return copy;
}

/** What a gateway says in scopes. */
function seen(gateway: Gateway<Generation>, clock: FakeClock, scopes: readonly Visibility[] = SCOPES) {
  return [{}, ...scopes].map((scope) => {
    const within = gateway.within(scope);
    const { rootHash, clusters, services, conflicts, findings, ready } = within.status();
    const key = JSON.stringify(scope);
    const sorted = findings.map((finding) => JSON.stringify(finding)).sort();
    const found = { key, rootHash, clusters, services, conflicts, findings: sorted, ready };
    return { ...found, isServed: within.current(clock.now()) !== undefined };
  });
}

/** Sets clocks to the latest of them: one process takes longer than another one. */
function synchronize(clocks: readonly FakeClock[]): void {
  const now = Math.max(...clocks.map((clock) => clock.now()));
  for (const clock of clocks) clock.stall(now - clock.now());
}

/** Findings without when a push was seen, which is later in a process that takes longer. */
const withoutInstants = (findings: readonly string[]) =>
  findings.map((finding) => finding.replace(/(it counts from )[^"]+/, "$1")).sort();

/** Counts the services that are read from rows. */
function counting(database: SqlDatabase) {
  const read = { entries: 0, written: 0 };
  const wrapped: SqlDatabase = {
    transactionSync: (change) => database.transactionSync(change),
    sql: {
      exec(query, ...bindings) {
        if (/WHERE cluster_id = \? AND name = \?/.test(query) && String(bindings[1]).startsWith("exports/"))
          read.entries++;
        if (query.startsWith("INSERT INTO generation_")) read.written++;
        return database.sql.exec(query, ...bindings);
      },
    },
  };
  return { wrapped, read };
}

/** A database whose process dies before a statement. */
function mortal(database: SqlDatabase, at: number) {
  let statements = 0;
  const wrapped: SqlDatabase = {
    sql: {
      exec(query, ...bindings) {
        if (++statements >= at && !query.trimStart().startsWith("SELECT"))
          throw new Error("the process is dead");
        return database.sql.exec(query, ...bindings);
      },
    },
    transactionSync: (change) => database.transactionSync(change),
  };
  return { wrapped, isDead: () => statements >= at };
}

type Step =
  | { readonly to: ClusterSnapshot; readonly leaseSeconds: number }
  | { readonly leaves: string }
  | { readonly passes: number };

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      to: arbitrarySnapshot(fc.constantFrom(...CLUSTERS)),
      leaseSeconds: fc.constantFrom(60, 600),
    }),
  },
  { weight: 1, arbitrary: fc.record({ leaves: fc.constantFrom(...CLUSTERS) }) },
  { weight: 1, arbitrary: fc.record({ passes: fc.constantFrom(30_000, 70_000) }) },
);

/** Waits for something, unless its process has died: then some of it never ends. */
async function attempt(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const end = () => {
    isSettled = true;
  };
  work.then(end, end);
  for (let left = 300; !isSettled && left > 0; left--) {
    await setImmediate();
    await clock.advance(1);
  }
}

/** @param wait how it waits until a push is settled */
async function take(
  gateway: Gateway<Generation>,
  clock: FakeClock,
  step: Step,
  wait: (clock: FakeClock, work: Promise<unknown>) => Promise<unknown> = attempt,
): Promise<void> {
  if ("passes" in step) clock.stall(step.passes);
  else if ("leaves" in step) await wait(clock, gateway.leave(step.leaves));
  else await wait(clock, putSnapshot(gateway, step.to, { leaseSeconds: step.leaseSeconds }));
}

describe("a process that goes on from the notes of the one before", () => {
  test("serves what one that compiles everything serves, wherever the one before died, and after more pushes", async () => {
    let died = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryStep, { minLength: 1, maxLength: 5 }),
        fc.array(arbitraryStep, { maxLength: 2 }),
        fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 20, max: 400 })),
        async (steps, more, at) => {
          const database = sqliteDouble();
          const clock = new FakeClock(NOW);
          const { wrapped, isDead } = mortal(database, at);
          try {
            const gateway = await resume(wrapped, clock).open();
            for (const step of steps) if (!isDead()) await take(gateway, clock, step);
          } catch {
            expect(isDead()).toBe(true);
          }
          if (isDead()) died++;
          // The process that died may have timers of its clock.
          const copies = [copyOf(database), copyOf(database)] as const;
          const clocks = [new FakeClock(clock.now()), new FakeClock(clock.now())] as const;
          const [resumed, compiled] = [
            await resume(copies[0], clocks[0]).open(),
            await compileAll(copies[1], clocks[1]).open(),
          ];
          synchronize(clocks);
          expect(seen(resumed, clocks[0])).toEqual(seen(compiled, clocks[1]));
          for (const step of more) {
            await take(resumed, clocks[0], step, passUntil);
            await take(compiled, clocks[1], step, passUntil);
            synchronize(clocks);
            const [one, another] = [seen(resumed, clocks[0]), seen(compiled, clocks[1])];
            expect(one.map(({ rootHash }) => rootHash)).toEqual(another.map(({ rootHash }) => rootHash));
            const [found, others] = [one, another].map((scopes) => scopes.map(({ findings }) => findings));
            expect(found!.map(withoutInstants)).toEqual(others!.map(withoutInstants));
          }
        },
      ),
      { numRuns: 100 },
    );
    expectMet(died, 1);
  });
});

describe("a start from notes", () => {
  /** A database to which two clusters pushed. */
  async function pushed() {
    const database = sqliteDouble();
    const clock = new FakeClock(NOW);
    const gateway = await resume(database, clock, ALONE).open();
    const other = {
      ...shopSnapshot("east", 0),
      imports: { "shop/web": { type: "Headless" as const, ips: [], ports: [], endpoints: {} } },
    };
    for (const snapshot of [shopSnapshot("west", 40), other])
      await passUntil(clock, putSnapshot(gateway, snapshot, { leaseSeconds: 600 }));
    return { database, clock, gateway };
  }

  test.each(["generation_parts", "generation_notes"])(
    "compiles everything where any row of %s is damaged or missing, and says so",
    async (table) => {
      const { database, clock, gateway } = await pushed();
      const name = table === "generation_parts" ? "hash" : "scope, name";
      const rows = database.sql.exec(`SELECT ${name} FROM ${table}`).toArray();
      const said: number[] = [];
      for (const row of rows) {
        const where = Object.keys(row)
          .map((column) => `${column} = ?`)
          .join(" AND ");
        for (const statement of [
          `UPDATE ${table} SET body = replace(CAST(body AS BLOB), '1', '2') || x'00' WHERE ${where}`,
          `DELETE FROM ${table} WHERE ${where}`,
        ]) {
          const copy = copyOf(database);
          copy.sql.exec(statement, ...(Object.values(row) as SqlValue[]));
          const broken = counting(copy);
          const { open, reasons } = resume(broken.wrapped, clock, ALONE);
          expect(seen(await open(), clock, [])).toEqual(seen(gateway, clock, []));
          // A part of a generation that was replaced is not needed.
          if (table === "generation_notes" || broken.read.entries > 0) said.push(reasons.length);
          else expect(reasons).toEqual([]);
          const { wrapped, read } = counting(copy);
          const sound = await resume(wrapped, clock, ALONE).open();
          expect(seen(sound, clock, [])).toEqual(seen(gateway, clock, []));
          expect(read.entries).toBe(0);
        }
      }
      expect(new Set(said)).toEqual(new Set([1]));
    },
  );
});
