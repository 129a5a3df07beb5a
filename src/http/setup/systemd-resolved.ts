import { addressStep, type ClientSetup, gatewayAddress, trustStep } from "./client-setup.ts";
import { inUrl, type SetupFacts } from "./setup-facts.ts";
import { type SetupFile, textFile } from "./setup-file.ts";

/** A drop-in of resolved.conf(5): names of the zone (a routing domain, `~`) go to the gateway, by DNS over TLS where it is on. */
export function resolvedConf(facts: SetupFacts): SetupFile {
  const { server, overTls } = resolver(facts);
  return textFile("clusterset-doh.conf", [
    "[Resolve]",
    `DNS=${server}`,
    `Domains=~${facts.zone}`,
    `DNSOverTLS=${overTls ? "yes" : "no"}`,
    // The zone is not signed.
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
  lacks: ({ dns, dot }) =>
    dns === undefined && dot === undefined
      ? "systemd-resolved speaks DNS over TLS and plain DNS, and this gateway listens for neither: start it with `--dot ADDRESS:853` or `--dns ADDRESS:PORT` (settings `dot.listen`, `dns.listen`; not on serverless hosts)."
      : undefined,
  steps: (facts) => [
    "For good: put the file into `/etc/systemd/resolved.conf.d`, then `systemctl restart systemd-resolved`. `resolvectl status` shows it.",
    "For a try: run the lines with the name of a link, such as a VPN's, in place of `LINK`.",
    ...(facts.dot === undefined && facts.zone.endsWith(".local")
      ? ["Names of one label below .local stay with multicast DNS; those of services have more."]
      : []),
    ...addressStep(facts, facts.dot ?? facts.dns),
    ...(facts.dot === undefined ? [] : trustStep(facts)),
  ],
  files: [resolvedConf, resolvectlLines],
};

function resolver(facts: SetupFacts): { readonly server: string; readonly overTls: boolean } {
  const { dot, dns, host } = facts;
  if (dot !== undefined)
    return { server: `${inUrl(gatewayAddress(facts, dot))}:${dot.port}#${host}`, overTls: true };
  return { server: `${inUrl(gatewayAddress(facts, dns))}:${dns?.port ?? 53}`, overTls: false };
}
