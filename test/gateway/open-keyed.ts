import { Reader } from "../../src/database/reader.ts";
import { Writer } from "../../src/database/writer.ts";
import { Gateway, type GatewayParts } from "../../src/gateway/gateway.ts";
import type { DohGateway, QueryStages } from "../../src/gateway/gateway-types.ts";
import type { GatewayLimits } from "../../src/gateway/limits.ts";
import type { Answer } from "../../src/resolve/record-writer.ts";
import { notReady, resolve } from "../../src/resolve/resolve.ts";
import { DEFAULT_LEASE, DEFAULT_LIMITS } from "../config/default-limits.ts";
import { DRIVERS } from "../database/databases.ts";

/** Answers queries as the gateway does with default settings. */
export const REAL_QUERIES: QueryStages = {
  resolve: (query, { world, ...context }) =>
    resolve(query, { ...context, world, rotation: 0, outside: "refuse" }),
  notReady,
};

/** The same with a fixed SOA serial, which says when something changed, whatever it was. */
export const WITHOUT_SERIAL: QueryStages = {
  ...REAL_QUERIES,
  resolve: (query, { world, ...context }) =>
    REAL_QUERIES.resolve(query, { ...context, world: Object.assign(world, { serial: 1 }) }),
};

/** An empty database in memory. */
export function memoryDatabase(): ReturnType<(typeof DRIVERS)[0][1]> {
  return DRIVERS[0]![1]();
}

/** A gateway over a database, by default an empty one in memory. */
export function openKeyed({
  database = memoryDatabase(),
  limits = {},
  ...parts
}: Pick<GatewayParts, "clock"> &
  Partial<Omit<GatewayParts, "limits">> & {
    limits?: Partial<GatewayLimits>;
    database?: ReturnType<typeof memoryDatabase>;
  }): Gateway {
  const writer = new Writer(
    database,
    () => {},
    () => parts.clock.now(),
  );
  const gateway: Gateway = new Gateway({
    writer,
    reader: new Reader(database, (damage) => gateway.damaged(damage)),
    names: { zones: { ttl: 30 }, merging: {} },
    queries: REAL_QUERIES,
    onEvent: () => {},
    limits: { ...DEFAULT_LIMITS, lease: DEFAULT_LEASE, ...limits },
    ...parts,
  });
  return gateway;
}

/** The answer of a query that needs no large key: it is there at once. */
export function answerNow(
  ...[gateway, ...query]: [Pick<DohGateway, "answer">, ...Parameters<DohGateway["answer"]>]
): Answer {
  const answer = gateway.answer(...query);
  if (answer === undefined || answer instanceof Promise) throw new Error("no answer at once");
  return answer;
}
