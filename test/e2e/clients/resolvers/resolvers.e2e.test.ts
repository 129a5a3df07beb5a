import type { RecordType } from "dns-packet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { queryTcp, queryUdp } from "../../servers/dns.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { waitFor } from "../../servers/wait.ts";
import {
  BIG,
  BIG_SIZE,
  DB,
  type ListeningGateway,
  startListeningGateway,
  WEB,
  ZONE,
} from "../listening-gateway.ts";
import {
  answeredBy,
  expectWebBy,
  lookupBy,
  type Resolver,
  startCoreDnsForwarder,
  startResolver,
} from "./resolver.ts";

/** The last column: by what the queries come to the gateway. */
const resolvers = [
  ["CoreDNS", "plain DNS", ["udp", "tcp"]],
  ["CoreDNS", "DNS over TLS", ["dot"]],
  ["unbound", "plain DNS", ["udp", "tcp"]],
  ["unbound", "DNS over TLS", ["dot"]],
  ["dnsmasq", "plain DNS", ["udp", "tcp"]],
  ["systemd-resolved", "plain DNS", ["udp", "tcp"]],
  ["systemd-resolved", "DNS over TLS", ["dot"]],
] as const;

let listening: ListeningGateway;
const started = new Map<string, Resolver>();
const startedOf = (program: string, by: string) => started.get(`${program} by ${by}`)!;
beforeAll(async () => {
  listening = await startListeningGateway({ config: { ttlSeconds: 1 } });
  for (const [program, by, [transport]] of resolvers)
    started.set(`${program} by ${by}`, await startResolver(program, transport, listening));
});
afterAll(async () => {
  await Promise.all([...started.values()].map((resolver) => resolver.stop()));
  await listening?.gateway.stop();
});

describe.each(resolvers)("%s by %s", (program, by, transports) => {
  const countOf = (transport: "udp" | "tcp" | "dot") => answeredBy(transport, listening);
  const lookup = (name: string, type: RecordType) => lookupBy(startedOf(program, by), name, type);
  let before: number[];
  beforeAll(async () => {
    before = await Promise.all(transports.map(countOf));
  });

  test("resolves the services of the zone, and gets NXDOMAIN", async () => {
    await expectWebBy(startedOf(program, by));
    expect((await lookup(DB, "A")).values).toEqual(["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"]);
    expect((await lookup(`dns-version.${ZONE}`, "TXT")).values).toEqual(["1.0.0"]);
  });

  test("gets NODATA", async () => {
    expect(await lookup(DB, "AAAA")).toMatchObject({ rcode: "NOERROR", values: [] });
  });

  test("gets an answer that does not fit into a datagram over TCP", async () => {
    const { port } = startedOf(program, by);
    const truncated = await queryUdp(port, { name: BIG, type: "A", edns: true });
    expect(truncated.tc).toBe(true);
    const whole = shorten(await queryTcp(port, { name: BIG, type: "A", edns: true }));
    expect(whole.values).toHaveLength(BIG_SIZE);
  });

  test("uses the configured transports", async () => {
    for (const [index, transport] of transports.entries())
      await eventually(() => countOf(transport)).toBeGreaterThan(before[index]!);
  });
});

describe("after a change of the services", () => {
  beforeAll(() => listening.push(["10.96.1.99"]));

  test.each(resolvers)("%s by %s sees it once its cache has expired", async (program, by) => {
    const resolver = startedOf(program, by);
    await eventually(async () => (await lookupBy(resolver, WEB, "A")).values).toEqual([
      "10.96.1.99",
      "10.96.2.10",
    ]);
  });
});

describe("after a restart of the gateway", () => {
  beforeAll(async () => {
    await listening.gateway.restart();
    await listening.push();
  });

  test.each(resolvers)("%s by %s continues", async (program, by) => {
    const resolver = startedOf(program, by);
    await eventually(async () => (await lookupBy(resolver, `db-0.cluster-a.${DB}`, "A")).values).toEqual([
      "10.1.0.1",
    ]);
  });
});

test("a cluster's CoreDNS that forwards to that cluster's listener gets its own view", async () => {
  const resolver = await startCoreDnsForwarder({ port: listening.viewPort });
  try {
    const web = await waitFor("an answer", () =>
      queryUdp(resolver.port, { name: WEB, type: "A", edns: true }),
    );
    expect(shorten(web).values).toEqual(["10.96.1.10"]);
  } finally {
    await resolver.stop();
  }
});

test("a resolver that trusts another certificate gets no answers", async () => {
  const { certPath } = await certificateFor(temporaryFolder("another"));
  const resolver = await startCoreDnsForwarder({ port: listening.dotPort, caFile: certPath });
  try {
    expect((await queryUdp(resolver.port, { name: WEB, type: "A", edns: true })).rcode).toBe("SERVFAIL");
  } finally {
    await resolver.stop();
  }
});
