import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { Bystander } from "../harness/bystander.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { Http2Transport } from "./http2-transport.ts";
import { StreamTransport, UdpTransport } from "./plain-transports.ts";
import type { QueryTransport } from "./query-transport.ts";
import { type Failure, queriesOf, RUNS, shrink, type Tally, tryQueries } from "./query-trial.ts";

/** Another seed gives other queries: ABUSE_SEED=$RANDOM; fewer or more of them: ABUSE_QUERIES=10000. */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_101);
const QUERIES = Number(process.env.ABUSE_QUERIES ?? 50_000);
/** Queries that failed once, which always go first; a failure adds the next one. */
const REGRESSIONS = fileURLToPath(new URL("regressions.json", import.meta.url));
/**
 * A gateway keeps nothing of a query. What grows is the space that V8 leaves to garbage, which settles once every path has run hot: less
 * than this over the second half of a million, where keeping each query with its answer would be more than 50 MiB. 8 to 27 were seen, and 8 from
 * 900,000 queries to 1.8 million.
 */
const MOST_GROWTH_MEBIBYTES = 48;
const HTTP2_CONNECTIONS = 4;
/** Of twenty seeds one each goes over UDP, TCP and TLS. */
const SEEDS_EACH = 20;

describe("queries that fast-check has damaged", () => {
  let listening: ListeningGateway;
  let plain: QueryTransport[];
  let http2: QueryTransport[];
  beforeAll(async () => {
    listening = await startListeningGateway({ env: MEASURED });
    const { gateway, dnsPort, dotPort } = listening;
    const { ca } = gateway;
    plain = [
      await UdpTransport.open(dnsPort),
      new StreamTransport("TCP", () => StreamClient.tcp(dnsPort)),
      new StreamTransport("TLS", () => StreamClient.tls(dotPort, { ca, ALPNProtocols: ["dot"] })),
    ];
    const port = Number(new URL(gateway.url).port);
    http2 = await Promise.all(
      Array.from({ length: HTTP2_CONNECTIONS }, () => Http2Transport.open({ port, ca })),
    );
  });
  afterAll(async () => {
    for (const transport of [...(plain ?? []), ...(http2 ?? [])]) transport.close();
    await listening?.gateway.stop();
  });

  test("those that failed once get what they must, by every transport", async () => {
    const kept = JSON.parse(readFileSync(REGRESSIONS, "utf8")) as Failure[];
    const queries = kept.map(({ query }) => Buffer.from(query, "hex"));
    expect(queries.length).toBeGreaterThan(0);
    for (const transport of [...plain, http2[0]!])
      for (const query of queries) expect(await tryQueries(transport, [query], new Map())).toBeUndefined();
  });

  test(`${QUERIES} with the seed ${SEED}: no crash, no wrong ID, bounded memory`, {
    timeout: 1_800_000,
  }, async () => {
    const { gateway } = listening;
    const pid = gateway.process.pid!;
    const bystander = await Bystander.start(gateway, { name: WEB, addresses: WEB_ADDRESSES });
    const seeds = Math.ceil(QUERIES / RUNS);
    const tally: Tally = new Map();
    let done = 0;
    let half: number | undefined;
    let failure: (Failure & { seed: number }) | undefined;

    const run = async (transport: QueryTransport, next: () => number | undefined) => {
      for (let index = next(); index !== undefined && failure === undefined; index = next()) {
        const seed = SEED + index;
        const found = await tryQueries(transport, queriesOf(seed), tally);
        if (found !== undefined) failure ??= { seed, ...((await shrink(transport, seed)) ?? found) };
        done++;
        if (done === seeds >> 1) half = await heldMebibytes(gateway);
        if (done % Math.ceil(seeds / 10) === 0) console.log(`${done * RUNS} queries`);
      }
    };
    const seedsOf = (belongs: (place: number) => boolean) => {
      let index = -1;
      return () => {
        do index++;
        while (!belongs(index % SEEDS_EACH));
        return index < seeds ? index : undefined;
      };
    };
    const ofHttp2 = seedsOf((place) => place >= plain.length);
    await Promise.all([
      ...http2.map((transport) => run(transport, ofHttp2)),
      ...plain.map((transport, place) =>
        run(
          transport,
          seedsOf((one) => one === place),
        ),
      ),
    ]);
    if (failure !== undefined) keep(failure);
    expect(failure).toBeUndefined();

    console.log(Object.fromEntries(tally));
    const asked = [...tally.values()].reduce((sum, count) => sum + count, 0);
    expect(asked).toBe(seeds * RUNS);
    expect(await bystander.stop()).toBeGreaterThan(0);
    expect(gateway.process.pid).toBe(pid);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
    const growth = (await heldMebibytes(gateway)) - half!;
    console.log(`the second half grew the held memory by ${Math.round(growth)} MiB`);
    expect(growth).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  });
});

function keep(failure: Failure & { seed: number }): void {
  const kept = JSON.parse(readFileSync(REGRESSIONS, "utf8")) as Failure[];
  writeFileSync(REGRESSIONS, `${JSON.stringify([...kept, failure], null, 2)}\n`);
}
