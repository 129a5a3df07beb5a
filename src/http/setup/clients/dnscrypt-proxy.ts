import { addressStep, type ClientSetup, gatewayAddress, trustStep } from "../client-setup.ts";
import { dnsStamp } from "../dns-stamp.ts";
import { lacksPlainDns, place } from "../listener.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** The gateway's name in dnscrypt-proxy's configuration. */
const SERVER = "clusterset-doh";

/** Lines for dnscrypt-proxy's configuration: the gateway by its stamp, for DNS over HTTPS. */
export function dnscryptProxyServer(facts: SetupFacts): SetupFile {
  return textFile("dnscrypt-proxy.toml", [
    `# For dnscrypt-proxy.toml: ${facts.resource}`,
    `server_names = ['${SERVER}']`,
    "",
    `[static.'${SERVER}']`,
    `stamp = '${dnsStamp(facts)}'`,
  ]);
}

/** A forwarding rule that sends only the zone to the gateway, by plain DNS: dnscrypt-proxy cannot forward by another protocol. */
export function dnscryptProxyForwarding(facts: SetupFacts): SetupFile {
  const { zone, dns } = facts;
  return textFile("forwarding-rules.txt", [
    `${zone} ${place(gatewayAddress(facts, dns), dns?.port ?? 53, 53)}`,
  ]);
}

export const dnscryptProxy: ClientSetup = {
  id: "dnscrypt-proxy",
  title: "dnscrypt-proxy, every name",
  lacks: ({ outside }) =>
    outside === "refuse"
      ? "dnscrypt-proxy drops a server that refuses names out of its zones: set `outsideZones` to `forward` (or `nxdomain`), or use its forwarding rules."
      : undefined,
  steps: (facts) => [
    "Add the lines to `dnscrypt-proxy.toml`: `server_names` at the top, the section at the end.",
    ...(facts.outside === "nxdomain"
      ? [`This gateway denies every name out of its zones: with these lines only ${facts.zone} resolves.`]
      : []),
    ...trustStep(facts),
  ],
  files: [dnscryptProxyServer],
};

export const dnscryptProxyRules: ClientSetup = {
  id: "dnscrypt-proxy-rules",
  title: "dnscrypt-proxy, this zone only",
  lacks: lacksPlainDns,
  steps: (facts) => [
    "Name the file in `dnscrypt-proxy.toml`: `forwarding_rules = 'forwarding-rules.txt'`.",
    ...addressStep(facts, facts.dns),
  ],
  files: [dnscryptProxyForwarding],
};
