import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { metric } from "../../harness/answers.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { queryUdp } from "../../servers/dns.ts";
import type { Reached } from "../documented.ts";
import { DESIGNATED, type ListeningGateway, startListeningGateway, WEB, ZONE } from "../listening-gateway.ts";
import {
  type Resolver,
  startCoreDnsForwarder,
  startDnsmasq,
  startResolved,
  startUnbound,
} from "./resolver.ts";

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

type Start = (upstream: Reached, text: string) => Promise<Resolver>;
const overTls = (): Reached => ({ port: listening.dotPort, caFile: listening.gateway.caFile });
const inClear = (): Reached => ({ port: listening.dnsPort });

const resolvers: [string, Start, () => Reached, string, string][] = [
  ["CoreDNS", startCoreDnsForwarder, overTls, "coredns-dns/Corefile-dns", "dot"],
  ["unbound", startUnbound, overTls, "unbound/clusterset-doh.conf", "dot"],
  ["systemd-resolved", startResolved, overTls, "systemd-resolved/clusterset-doh.conf", "dot"],
  ["dnsmasq", startDnsmasq, inClear, "dnsmasq/clusterset-doh.conf", "udp"],
];

describe("resolvers that forward by DNS over TLS or plain DNS, with the files of /setup", () => {
  test.each(resolvers)("%s resolves the zone", async (_, start, upstream, path, transport) => {
    const count = () =>
      metric(listening.gateway, "clusterset_doh_queries_total", {
        transport,
        view: "outside",
        outcome: "answer",
        type: "A",
      });
    const before = await count();
    const resolver = await start(upstream(), await setupFile(path));
    try {
      const lookup = async (name: string, type: "A" | "AAAA" | "SRV") =>
        shorten(await queryUdp(resolver.port, { name, type, edns: true }));
      expect(await lookup(WEB, "A")).toMatchObject({
        rcode: "NOERROR",
        values: ["10.96.1.10", "10.96.2.10"],
      });
      expect((await lookup(WEB, "AAAA")).values).toEqual(["fd00:96::10"]);
      expect((await lookup(`_https._tcp.${WEB}`, "SRV")).values).toEqual([`0 100 443 ${WEB}`]);
      expect((await lookup(`nothing.shop.svc.${ZONE}`, "A")).rcode).toBe("NXDOMAIN");
    } finally {
      await resolver.stop();
    }
    expect(await count()).toBeGreaterThan(before);
  });

  test("dnscrypt-proxy's forwarding rule names the zone and the plain listener", async () => {
    expect(await setupFile("dnscrypt-proxy-rules/forwarding-rules.txt")).toBe(
      `${ZONE} 127.0.0.1:${listening.dnsPort}\n`,
    );
  });

  test("the page shows the listeners' ports", async () => {
    const { text } = await listening.gateway.http(`/setup?zone=${ZONE}`);
    expect(text).toContain(`port ${listening.dotPort} of <code>127.0.0.1</code>`);
    expect(text).toContain(`port ${listening.dnsPort} of <code>127.0.0.1</code>`);
    expect(text).not.toContain(`port ${listening.viewPort}`);
  });
});
