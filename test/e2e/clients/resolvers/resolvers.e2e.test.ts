import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { queryTcp, queryUdp } from "../../servers/dns.ts";
import { waitFor } from "../../servers/wait.ts";
import {
  BIG,
  BIG_SIZE,
  DB,
  DESIGNATED,
  type ListeningGateway,
  startListeningGateway,
  WEB,
  ZONE,
} from "../listening-gateway.ts";
import { answeredBy, expectWebBy, lookupBy, startCoreDnsForwarder, startResolver } from "./resolver.ts";

let listening: ListeningGateway;
beforeAll(async () => {
  listening = await startListeningGateway({ publicUrl: `https://${DESIGNATED}` });
});
afterAll(() => listening?.gateway.stop());

/** A file behind /setup, with the certificate where it is here. */
async function setupFile(path: string): Promise<string> {
  const { status, text } = await listening.gateway.http(`/setup/${path}?zone=${ZONE}`);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return text.replace(/(?:\/etc\/unbound\/)?certificate\.crt/, listening.gateway.caFile);
}

/** The last column: by what the queries come to the gateway. */
test.each([
  ["CoreDNS", "docs/how-to/plain-dns.md", ["udp", "tcp"]],
  ["CoreDNS", "docs/how-to/plain-dns.md", ["dot"]],
  ["unbound", "docs/how-to/plain-dns.md", ["udp", "tcp"]],
  ["unbound", "docs/how-to/plain-dns.md", ["dot"]],
  ["dnsmasq", "docs/how-to/plain-dns.md", ["udp", "tcp"]],
  ["systemd-resolved", "docs/how-to/plain-dns.md", ["dot"]],
  ["CoreDNS", "/setup/coredns-dns/Corefile-dns", ["dot"]],
  ["unbound", "/setup/unbound/clusterset-doh.conf", ["dot"]],
  ["systemd-resolved", "/setup/systemd-resolved/clusterset-doh.conf", ["dot"]],
  ["dnsmasq", "/setup/dnsmasq/clusterset-doh.conf", ["udp", "tcp"]],
] as const)("%s with the settings of %s resolves the zone by %s", async (program, source, transports) => {
  const [, path] = source.split("/setup/");
  const countOf = (transport: "udp" | "tcp" | "dot") => answeredBy(transport, listening);
  const before = await Promise.all(transports.map(countOf));
  const settings = path === undefined ? undefined : await setupFile(path);
  const resolver = await startResolver(program, transports[0], listening, settings);
  try {
    await expectWebBy(resolver);
    const addresses = ["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"];
    expect((await lookupBy(resolver, DB, "A")).values).toEqual(addresses);
    expect(await lookupBy(resolver, DB, "AAAA")).toMatchObject({ rcode: "NOERROR", values: [] });
    expect((await lookupBy(resolver, `dns-version.${ZONE}`, "TXT")).values).toEqual(["1.0.0"]);
    const big = { name: BIG, type: "A", edns: true } as const;
    expect((await queryUdp(resolver.port, big)).tc).toBe(true);
    expect(shorten(await queryTcp(resolver.port, big)).values).toHaveLength(BIG_SIZE);
    for (const [index, transport] of transports.entries())
      await eventually(() => countOf(transport)).toBeGreaterThan(before[index]!);
  } finally {
    await resolver.stop();
  }
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
