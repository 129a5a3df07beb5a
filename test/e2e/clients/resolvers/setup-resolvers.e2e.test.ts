import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../harness/answers.ts";
import { DESIGNATED, type ListeningGateway, startListeningGateway, ZONE } from "../listening-gateway.ts";
import { answeredBy, expectWebBy, startResolver } from "./resolver.ts";

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

const resolvers = [
  ["CoreDNS", "dot", "coredns-dns/Corefile-dns"],
  ["unbound", "dot", "unbound/clusterset-doh.conf"],
  ["systemd-resolved", "dot", "systemd-resolved/clusterset-doh.conf"],
  ["dnsmasq", "udp", "dnsmasq/clusterset-doh.conf"],
] as const;

describe("resolvers that forward by DNS over TLS or plain DNS, with the files of /setup", () => {
  test.each(resolvers)("%s resolves the zone", async (program, transport, path) => {
    const before = await answeredBy(transport, listening);
    const resolver = await startResolver(program, transport, listening, await setupFile(path));
    await expectWebBy(resolver).finally(() => resolver.stop());
    await eventually(() => answeredBy(transport, listening)).toBeGreaterThan(before);
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
