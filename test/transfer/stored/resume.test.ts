import { describe, expect, test } from "vitest";
import type { SqlDatabase } from "../../../src/store/rows/sql-database.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { askSecondary } from "../pair.ts";
import { MOST_BEHIND, partsIn, passUntil, secondaryOf, startOver } from "./stored-gateway.ts";

/** A database to which "west" pushed that many endpoints, and "east" one. */
async function pushedDatabase(endpoints = 3, leaseSeconds = 600) {
  const database = sqliteDouble();
  const clock = new FakeClock();
  const gateway = await startOver(database, clock).open();
  await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", endpoints), { leaseSeconds }));
  await passUntil(clock, putSnapshot(gateway, shopSnapshot("east", 1), { leaseSeconds }));
  return { database, clock, gateway };
}

const damage = (database: SqlDatabase, hash: string) =>
  database.sql.exec("UPDATE generation_parts SET body = zeroblob(length(body)) WHERE hash = ?", hash);

test("a push that was stored and not compiled makes answers stale once they should have it", async () => {
  const { database, clock } = await pushedDatabase();
  const record = database.sql.exec("SELECT body, digest FROM generations").toArray()[0]!;
  const gateway = await startOver(database, clock).open();
  clock.stall(1000);
  const { generation } = await passUntil(
    clock,
    putSnapshot(gateway, shopSnapshot("west", 5), { leaseSeconds: 600 }),
  );
  database.sql.exec("UPDATE generations SET body = ?, digest = ?", record.body!, record.digest!);
  const { primary, open } = startOver(database, clock);
  const state = () => primary.of("")!.state().status;
  expect(state().clusters[1]).toMatchObject({ clusterId: "west", generation, live: true });
  expect(state().behindSince).toBeUndefined();
  clock.stall(MOST_BEHIND + 1);
  expect(state().behindSince).toBe(state().clusters[1]!.pushedAt);
  await open();
  expect(state().behindSince).toBeUndefined();
  expect((await askSecondary(secondaryOf(primary.of("")!, clock), clock)).addresses).toHaveLength(5);
});

describe("damaged rows of a generation", () => {
  test("each part alone: it is not served, nothing else is in its place, and the next compilation replaces it", async () => {
    const { database, clock, gateway } = await pushedDatabase();
    const { rootHash } = gateway.status();
    const served = startOver(database, clock).primary.of("")!;
    const parts = partsIn(database).filter((hash) => served.segment(hash, "") !== undefined);
    expect(parts.length).toBeGreaterThan(4);
    for (const hash of parts) {
      damage(database, hash);
      const { starting, primary, open, damaged } = startOver(database, clock);
      if (starting.serves("")) {
        expect(primary.of("")!.segment(hash, "")).toBeUndefined();
        expect(primary.of("")!.root(rootHash!, "")).toBeDefined();
      }
      expect(damaged).toContain(hash);
      await open();
      const after = startOver(database, clock);
      expect(after.starting.serves("")).toBe(true);
      expect(await askSecondary(secondaryOf(after.primary.of("")!, clock), clock)).toMatchObject({
        addresses: ["10.0.0.0", "10.0.0.1", "10.0.0.2"],
      });
      expect(after.damaged).toEqual([]);
    }
  });

  test("a part under the hash of another one is rejected", async () => {
    const { database, clock, gateway } = await pushedDatabase();
    const one = gateway.status().rootHash;
    const other = gateway.current(clock.now())!.generation.names.entries[0]!.branch.hash;
    database.sql.exec(
      "UPDATE generation_parts SET body = (SELECT body FROM generation_parts WHERE hash = ?) WHERE hash = ?",
      ...[one!, other],
    );
    const { primary, damaged } = startOver(database, clock);
    expect(primary.of("")!.segment(other, "")).toBeUndefined();
    expect(damaged).toContain(other);
  });

  test("an altered record names no generation", async () => {
    const { database, clock } = await pushedDatabase();
    database.sql.exec("UPDATE generations SET body = replace(body, '\"exports\":1', '\"exports\":2')");
    expect(startOver(database, clock).starting.serves("")).toBe(false);
  });
});

test("a scope is served its own parts only", async () => {
  const scopes = [{ namespaces: ["shop"] }, { namespaces: ["nothing-in-it"] }];
  const database = sqliteDouble();
  const clock = new FakeClock();
  const gateway = await startOver(database, clock, { scopes }).open();
  await passUntil(clock, putSnapshot(gateway, shopSnapshot("west", 3), { leaseSeconds: 600 }));
  const { primary, starting } = startOver(database, clock, { scopes });
  const [, shop, other] = [...starting.scopes.keys()];
  expect(starting.serves(shop!)).toBe(true);
  const [ofShop, ofOther] = [primary.of(shop!)!, primary.of(other!)!];
  const own = partsIn(database).filter((hash) => ofShop.segment(hash, "") !== undefined);
  const others = partsIn(database).filter((hash) => ofOther.segment(hash, "") !== undefined);
  expect(own.length).toBeGreaterThan(others.filter((hash) => own.includes(hash)).length);
  expect(ofOther.root(ofShop.state().status.rootHash!, "")).toBeUndefined();
  expect(starting.serves("namespaces=unknown")).toBe(true);
  expect(primary.of("namespaces=unknown")).toBeUndefined();
});
