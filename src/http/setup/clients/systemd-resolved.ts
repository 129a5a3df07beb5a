import { addressStep, type ClientSetup, trustStep } from "../client-setup.ts";
import { lacksListener, listenerOf } from "../listener.ts";
import { inUrl, type SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** A drop-in of resolved.conf(5): names of the zone (a routing domain, `~`) go to the gateway, by DNS over TLS if it is on. */
export function resolvedConf(facts: SetupFacts): SetupFile {
  const { server, overTls } = resolver(facts);
  return textFile("clusterset-doh.conf", [
    "[Resolve]",
    `DNS=${server}`,
    `Domains=~${facts.zone}`,
    `DNSOverTLS=${overTls ? "yes" : "no"}`,
    // The zone has no DNSSEC signatures.
    "DNSSEC=no",
  ]);
}

/** The same for one link (LINK), until it goes down or the machine restarts. */
export function resolvectlLines(facts: SetupFacts): SetupFile {
  const { server, overTls } = resolver(facts);
  return textFile("resolvectl.sh", [
    `resolvectl dns LINK ${server}`,
    `resolvectl domain LINK '~${facts.zone}'`,
    `resolvectl dnsovertls LINK ${overTls ? "yes" : "no"}`,
    "resolvectl dnssec LINK no",
  ]);
}

export const systemdResolved: ClientSetup = {
  id: "systemd-resolved",
  title: "systemd-resolved",
  lacks: lacksListener,
  steps: (facts) => [
    "Permanently: put the file into `/etc/systemd/resolved.conf.d`, then `systemctl restart systemd-resolved`. `resolvectl status` shows it.",
    "Temporarily: run the lines with the name of a link, such as a VPN's, in place of `LINK`.",
    // resolved.conf(5), Domains=: global servers are used in addition to those of links.
    "If no link has servers of its own, systemd-resolved sends all other names to these servers, too.",
    ...addressStep(facts, facts.dot ?? facts.dns),
    ...(facts.dot === undefined ? [] : trustStep(facts)),
  ],
  files: [resolvedConf, resolvectlLines],
};

function resolver(facts: SetupFacts): { readonly server: string; readonly overTls: boolean } {
  const { overTls, address, port } = listenerOf(facts);
  return { server: `${inUrl(address)}:${port}${overTls ? `#${facts.host}` : ""}`, overTls };
}
