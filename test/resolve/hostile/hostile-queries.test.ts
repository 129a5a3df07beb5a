import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parseAddress } from "../../../src/dns/address.ts";
import { HTTPS, streamTransport, udpTransport } from "../../../src/resolve/message-writer.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import { DESIGNATED, snapshots, ZONE } from "../../e2e/clients/listening-gateway.ts";
import { compileWorld } from "../ask.ts";
import { failureOfAnswer, LongestAnswer } from "./answer-check.ts";
import { attackQueries } from "./attack-queries.ts";
import { mutatedQueries } from "./mutated-queries.ts";
import { judge } from "./query-judge.ts";

const ZONES = ["clusterset.local", ZONE];
/** `npm run test:soak -- queries` runs more of them. */
const QUERIES = Number(process.env.ABUSE_QUERIES ?? 20_000);
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_101);
const context = compileWorld(
  snapshots(),
  { zones: ZONES },
  {
    designated: {
      name: DESIGNATED,
      addresses: [parseAddress("127.0.0.1")!],
      endpoints: [{ protocol: "https", port: 443 }],
    },
  },
);
const TRANSPORTS = [udpTransport(LongestAnswer.payload), streamTransport("tcp", 1000), HTTPS];

/** What is wrong with the answers to a query. */
function failureOf(query: Buffer): string | undefined {
  const verdict = judge(query, ZONES, DESIGNATED);
  for (const transport of TRANSPORTS) {
    const bytes = resolve(Uint8Array.from(query), { ...context, transport })?.bytes;
    if (verdict === "no-query" || bytes === undefined) {
      if (verdict !== "no-query" || bytes !== undefined) return `${transport.name}: answer ${bytes}`;
    } else {
      const failure = failureOfAnswer(query, Buffer.from(bytes), verdict, transport === TRANSPORTS[0]);
      if (failure !== undefined) return `${transport.name}: ${failure}`;
    }
  }
  return undefined;
}

describe("queries that fast-check has damaged", () => {
  it("get what the slow judge demands", () => {
    fc.assert(
      fc.property(mutatedQueries, (query) => {
        expect(failureOf(query)).toBeUndefined();
      }),
      { numRuns: QUERIES, seed: SEED },
    );
  });

  const kept: { query: string; why: string }[] = JSON.parse(
    readFileSync(new URL("regressions.json", import.meta.url), "utf8"),
  );
  it.each(kept)("get it where they failed once: $why", ({ query }) =>
    expect(failureOf(Buffer.from(query, "hex"))).toBeUndefined(),
  );
});

test.each(attackQueries)("the query of an attack: $title", ({ query, gets, most = query.length + 300 }) => {
  for (const transport of TRANSPORTS) {
    const bytes = resolve(Uint8Array.from(query), { ...context, transport })?.bytes;
    if (gets === "no query") expect(bytes).toBeUndefined();
    else {
      expect([bytes![2]! >> 7, bytes![3]! & 15]).toEqual([1, gets]);
      expect(bytes!.length).toBeLessThanOrEqual(most);
    }
  }
});
