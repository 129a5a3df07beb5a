import { expect, test } from "vitest";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { askSecondary } from "../pair.ts";
import { passUntil, secondaryOf, startOver } from "./stored-gateway.ts";

const LEASE = 600;

/** A database whose process dies before its statement number `at`: nothing reaches the rows any more. What it would say is read from them. */
function mortal(database: SqlDatabase) {
  const death = { at: Number.POSITIVE_INFINITY, statements: 0 };
  const wrapped: SqlDatabase = {
    sql: {
      exec(query, ...bindings) {
        const isDead = ++death.statements >= death.at;
        if (isDead && !query.trimStart().startsWith("SELECT")) throw new Error("the process is dead");
        return database.sql.exec(query, ...bindings);
      },
    },
    transactionSync: (change) => database.transactionSync(change),
  };
  return { wrapped, death };
}

/** The roots of a gateway that was given these pushes, and did not die. */
async function rootsOf(pushes: readonly number[]): Promise<string[]> {
  const clock = new FakeClock();
  const gateway = await startOver(sqliteDouble(), clock).open();
  const roots: string[] = [];
  for (const endpoints of pushes) {
    await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", endpoints), { leaseSeconds: LEASE }));
    roots.push(gateway.status().rootHash!);
  }
  return roots;
}

test("a process that dies before any statement leaves the generation before or the next one, whole, and every acknowledged push", async () => {
  const [before, after] = await rootsOf([2, 5]);
  const seen = new Set<string>();
  for (let at = 1, isOver = false; !isOver; at++) {
    const database = sqliteDouble();
    const clock = new FakeClock();
    const { wrapped, death } = mortal(database);
    const gateway = await startOver(wrapped, clock).open();
    await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", 2), { leaseSeconds: LEASE }));
    Object.assign(death, { at, statements: 0 });
    const acknowledged = await passUntil(
      clock,
      putSnapshot(gateway, shopSnapshot("west", 5), { leaseSeconds: LEASE }).then(
        () => true,
        () => false,
      ),
    );
    isOver = death.statements < at;
    const { starting, primary, open, damaged } = startOver(database, clock);
    expect(starting.serves("")).toBe(true);
    const { rootHash, compileError } = { compileError: undefined, ...gateway.status() };
    const state = primary.of("")!.state();
    expect([before, after]).toContain(state.status.rootHash);
    // What the process said it serves is what is stored.
    expect(state.status.rootHash).toBe(rootHash);
    if (acknowledged && compileError === undefined) expect(rootHash).toBe(after);
    const { addresses } = await askSecondary(secondaryOf(primary.of("")!, clock), clock);
    expect(addresses).toHaveLength(state.status.rootHash === after ? 5 : 2);
    expect(damaged).toEqual([]);
    seen.add(state.status.rootHash!);

    const next = await open();
    const stored = next.held("west").entry("exports", "shop/web")!;
    const [group] = Object.values(stored.endpoints);
    expect(next.status().rootHash).toBe(Object.keys(group!.members).length === 5 ? after : before);
    if (acknowledged) expect(next.status().rootHash).toBe(after);
  }
  expect(seen).toEqual(new Set([before, after]));
});
