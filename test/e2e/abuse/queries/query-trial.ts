import fc from "fast-check";
import { DESIGNATED, ZONE } from "../../clients/listening-gateway.ts";
import { failureOfAnswer } from "./answer-check.ts";
import { mutatedQueries } from "./mutated-queries.ts";
import { judge } from "./query-judge.ts";
import type { QueryTransport, Reaction } from "./query-transport.ts";

const ZONES = ["clusterset.local", ZONE];
/** Queries of one seed. */
export const RUNS = 1000;

/** A query that got something else than it must get. */
export interface Failure {
  /** In hex. */
  readonly query: string;
  readonly via: string;
  readonly why: string;
}

/** How many queries got which rcode or other reaction. */
export type Tally = Map<string, number>;

/** The queries of one seed, with IDs that differ. */
export function queriesOf(seed: number): Buffer[] {
  return numbered(fc.sample(mutatedQueries, { seed, numRuns: RUNS }));
}

function numbered(queries: readonly Buffer[]): Buffer[] {
  const start = Math.imul(queries[0]?.length ?? 0, 7919);
  return queries.map((query, index) => {
    if (query.length < 2) return query;
    const own = Buffer.from(query);
    own.writeUInt16BE((start + index) & 0xffff);
    return own;
  });
}

/** Sends queries and compares the reactions with the expected ones. @returns the first wrong one */
export async function tryQueries(
  transport: QueryTransport,
  queries: readonly Buffer[],
  tally: Tally,
): Promise<Failure | undefined> {
  const reactions = await transport.exchange(queries);
  for (const [index, query] of queries.entries()) {
    const reaction = reactions[index] ?? "nothing";
    const why = failureOf(transport, query, reaction);
    if (why !== undefined) return { query: query.toString("hex"), via: transport.name, why };
    const kind = reaction instanceof Buffer ? `rcode ${reaction[3]! & 15}` : String(reaction);
    tally.set(kind, (tally.get(kind) ?? 0) + 1);
  }
  return undefined;
}

/** The smallest query of a seed that fails, where one fails alone as well. */
export async function shrink(transport: QueryTransport, seed: number): Promise<Failure | undefined> {
  let smallest: Failure | undefined;
  await fc.check(
    fc.asyncProperty(mutatedQueries, async (query) => {
      const failure = await tryQueries(transport, [query], new Map());
      if (failure !== undefined) smallest = failure;
      return failure === undefined;
    }),
    { seed, numRuns: RUNS },
  );
  return smallest;
}

function failureOf(transport: QueryTransport, query: Buffer, reaction: Reaction): string | undefined {
  const verdict = judge(query, ZONES, DESIGNATED);
  if (verdict === "no-query")
    return reaction === transport.noQuery
      ? undefined
      : `bytes that are not a query got ${describe(reaction)}`;
  if (!(reaction instanceof Buffer)) return `a query got ${describe(reaction)}`;
  return failureOfAnswer(query, reaction, verdict, transport.isDatagram);
}

function describe(reaction: Reaction): string {
  if (reaction instanceof Buffer) return `the answer ${reaction.toString("hex")}`;
  return `${typeof reaction === "number" ? "status " : ""}${reaction}`;
}
