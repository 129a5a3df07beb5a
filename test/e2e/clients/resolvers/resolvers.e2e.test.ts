import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, metric } from "../../harness/answers.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { queryTcp, queryUdp } from "../../servers/dns.ts";
import { waitFor } from "../../servers/wait.ts";
import type { Reached } from "../documented.ts";
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
  type Resolver,
  startCoreDnsForwarder,
  startDnsmasq,
  startResolved,
  startUnbound,
} from "./resolver.ts";

let listening: ListeningGateway;
beforeAll(async () => {
  listening = await startListeningGateway({ config: { ttlSeconds: 1 } });
});
afterAll(() => listening?.gateway.stop());

type Start = (upstream: Reached) => Promise<Resolver>;
const overTls = (): Reached => ({ port: listening.dotPort, caFile: listening.gateway.caFile });
const inClear = (): Reached => ({ port: listening.dnsPort });

/** The last column: by what the queries come to the gateway. */
const resolvers: [string, Start, () => Reached, readonly ("udp" | "tcp" | "dot")[]][] = [
  ["CoreDNS by plain DNS", startCoreDnsForwarder, inClear, ["udp", "tcp"]],
  ["CoreDNS by DNS over TLS", startCoreDnsForwarder, overTls, ["dot"]],
  ["unbound by plain DNS", startUnbound, inClear, ["udp", "tcp"]],
  ["unbound by DNS over TLS", startUnbound, overTls, ["dot"]],
  ["dnsmasq by plain DNS", startDnsmasq, inClear, ["udp", "tcp"]],
  ["systemd-resolved by plain DNS", startResolved, inClear, ["udp", "tcp"]],
  ["systemd-resolved by DNS over TLS", startResolved, overTls, ["dot"]],
];

describe.each(resolvers)("%s", (_, start, upstream, transports) => {
  let resolver: Resolver;
  const countOf = async (transport: string) => {
    const labels = { transport, view: "outside", outcome: "answer", type: "A" };
    return metric(listening.gateway, "clusterset_doh_queries_total", labels);
  };
  let before: number[];
  beforeAll(async () => {
    before = await Promise.all(transports.map(countOf));
    resolver = await start(upstream());
  });
  afterAll(() => resolver?.stop());

  const lookup = async (name: string, type: "A" | "AAAA" | "SRV" | "TXT") =>
    shorten(await queryUdp(resolver.port, { name, type, edns: true }));

  test("resolves the services of the zone", async () => {
    expect(await lookup(WEB, "A")).toMatchObject({ rcode: "NOERROR", values: ["10.96.1.10", "10.96.2.10"] });
    expect((await lookup(WEB, "AAAA")).values).toEqual(["fd00:96::10"]);
    expect((await lookup(DB, "A")).values).toEqual(["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"]);
    expect((await lookup(`_https._tcp.${WEB}`, "SRV")).values).toEqual([`0 100 443 ${WEB}`]);
    expect((await lookup(`dns-version.${ZONE}`, "TXT")).values).toEqual(["1.0.0"]);
  });

  test("gets NXDOMAIN and NODATA", async () => {
    expect(await lookup(`nothing.shop.svc.${ZONE}`, "A")).toMatchObject({ rcode: "NXDOMAIN", values: [] });
    expect(await lookup(DB, "AAAA")).toMatchObject({ rcode: "NOERROR", values: [] });
  });

  test("gets an answer that does not fit into a datagram over TCP", async () => {
    const truncated = await queryUdp(resolver.port, { name: BIG, type: "A", edns: true });
    expect(truncated.tc).toBe(true);
    const whole = shorten(await queryTcp(resolver.port, { name: BIG, type: "A", edns: true }));
    expect(whole.values).toHaveLength(BIG_SIZE);
  });

  test("uses the configured transports", async () => {
    const after = await Promise.all(transports.map(countOf));
    for (const [index, count] of after.entries()) expect(count).toBeGreaterThan(before[index]!);
  });

  test("sees a change after its cache has expired", async () => {
    await listening.push(["10.96.1.99"]);
    await eventually(async () => (await lookup(WEB, "A")).values).toEqual(["10.96.1.99", "10.96.2.10"]);
    // For the next resolver.
    await listening.push();
  });

  test("continues after a restart of the gateway", async () => {
    await listening.gateway.restart();
    await eventually(async () => (await lookup(`db-0.cluster-a.${DB}`, "A")).values).toEqual(["10.1.0.1"]);
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
  const other = await startListeningGateway();
  const resolver = await startCoreDnsForwarder({ port: listening.dotPort, caFile: other.gateway.caFile });
  try {
    expect((await queryUdp(resolver.port, { name: WEB, type: "A", edns: true })).rcode).toBe("SERVFAIL");
  } finally {
    await resolver.stop();
    await other.gateway.stop();
  }
});
