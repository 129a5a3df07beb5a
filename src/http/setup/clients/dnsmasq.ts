import { addressStep, type ClientSetup, gatewayAddress } from "../client-setup.ts";
import { lacksPlainDns } from "../listener.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** Forwards the zone to the gateway's plain DNS, and allows private addresses. */
export function dnsmasqConf(facts: SetupFacts): SetupFile {
  const { zone, dns } = facts;
  const port = dns?.port ?? 53;
  return textFile("clusterset-doh.conf", [
    `server=/${zone}/${gatewayAddress(facts, dns)}${port === 53 ? "" : `#${port}`}`,
    `rebind-domain-ok=/${zone}/`,
  ]);
}

export const dnsmasq: ClientSetup = {
  id: "dnsmasq",
  title: "dnsmasq",
  lacks: lacksPlainDns,
  steps: (facts) => [
    "Put the file into `/etc/dnsmasq.d`, check it with `dnsmasq --test`, restart dnsmasq.",
    ...addressStep(facts, facts.dns),
  ],
  files: [dnsmasqConf],
};
