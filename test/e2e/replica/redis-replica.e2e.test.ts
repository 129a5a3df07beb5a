import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { Writer } from "../../../src/database/writer.ts";
import { createSteadyClock } from "../../../src/gateway/clock.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-types.ts";
import { Replica } from "../../../src/replica/replica.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { DEADLINE } from "../../deadline.ts";
import { patchCluster, putSnapshot } from "../../gateway/open-gateway.ts";
import { memoryDatabase, openKeyed } from "../../gateway/open-keyed.ts";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { readerOf, rowsOf } from "../../replica/replicas.ts";
import { RedisLogs } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

/** A gateway with its state under a prefix of the engine. */
async function start(prefix: string, { url = logs.redis.url, database = memoryDatabase() } = {}) {
  const events: GatewayEvent[] = [];
  const onEvent = (event: GatewayEvent) => void events.push(event);
  const log = await logs.open(prefix, { url });
  const writer = new Writer(database, () => {});
  const replica = await Replica.open(log, { database, writer, clock: createSteadyClock(), onEvent });
  const reader = new Reader(database, (damage) => gateway.damaged(damage));
  const gateway: Gateway = openKeyed({
    database,
    writer,
    reader,
    clock: replica.clock,
    order: replica,
    onEvent,
  });
  return { gateway, replica, database, events };
}
type Member = Awaited<ReturnType<typeof start>>;

/** Resolves when gateways are at one position. @returns the rows of all */
async function agreed(...members: Member[]): Promise<object> {
  const positions = () => new Set(members.map(({ replica }) => replica.position)).size;
  await expect.poll(positions, { timeout: DEADLINE }).toBe(1);
  const [first, ...others] = members.map(rowsOf);
  for (const other of others) expect(other).toEqual(first);
  return first!;
}

const generationOf = (member: Member) => readerOf(member).cluster("west")!.meta!.generation;

/** A cluster whose rows are more than one reply of the engine has. */
function large(services: number): ClusterSnapshot {
  const exports = Array.from(
    { length: services },
    (_, at) => [`shop/s${at}`, exported({ exportedAnnotations: { text: "x".repeat(200) } })] as const,
  );
  return snapshot("west", { namespaces: { shop: {} }, exports: Object.fromEntries(exports) });
}

test("a gateway loads the rows that others have while they change", async () => {
  const prefix = logs.newPrefix();
  const one = await start(prefix);
  await putSnapshot(one.gateway, large(4000));
  let isLoading = true;
  const changing = (async () => {
    for (let at = 0; isLoading; at++) {
      const exports = {
        [`shop/s${at}`]: null,
        [`shop/n${at}`]: exported(),
        "shop/s3999": exported({ exportedLabels: { at: `${at}` } }),
      };
      await patchCluster(one.gateway, "west", generationOf(one), { exports });
    }
  })();
  const members: Member[] = [one];
  for (let late = 0; late < 5; late++) {
    await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    members.push(await start(prefix));
  }
  isLoading = false;
  await changing;
  await agreed(...members);
  for (const member of members)
    for (const row of readerOf(member).clusters()) expect(readerOf(member).isWhole(row)).toBe(true);
  for (const { gateway } of members) await gateway.close();
});

describe("an engine", () => {
  test.each([
    ["whose rows were deleted", (prefix: string) => logs.onKey(prefix, "DEL", "rows:west")],
    [
      "of which a row is something else",
      (prefix: string) => logs.onKey(prefix, "HSET", "rows:west", "e1 0 shop", "?"),
    ],
    [
      "whose own row is something else",
      (prefix: string) => logs.onKey(prefix, "HSET", "clusters", "west", "1 1 {"),
    ],
    [
      "whose own row has a sum that begins with 0",
      (prefix: string) => logs.onKey(prefix, "HSET", "clusters", "west", "01 1 {"),
    ],
    ["whose own row is nothing", (prefix: string) => logs.onKey(prefix, "HSET", "clusters", "west", "?")],
  ])("with a cluster %s has it again after a full push", async (_, damage) => {
    const prefix = logs.newPrefix();
    const one = await start(prefix);
    await putSnapshot(one.gateway, large(2));
    await putSnapshot(one.gateway, snapshot("east", {}));
    await damage(prefix);
    await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    const late = await start(prefix);
    expect(late.events).toContainEqual(expect.objectContaining({ event: "log-damaged", clusterId: "west" }));
    // The one that found the damage tells the others by an entry of the log.
    const known = () => one.gateway.everything.status().clusters.map(({ clusterId }) => clusterId);
    await expect.poll(known, { timeout: DEADLINE }).toEqual(["east"]);
    await agreed(one, late);
    await putSnapshot(one.gateway, large(2));
    const later = await start(prefix);
    await agreed(one, late, later);
    expect(later.gateway.everything.status().clusters.map(({ clusterId }) => clusterId)).toEqual([
      "east",
      "west",
    ]);
    for (const { gateway } of [one, late, later]) await gateway.close();
  });
});
