import { type ClientSetup, trustStep } from "./client-setup.ts";
import { lacksDnsOverTls } from "./coredns.ts";
import { isAddress, type SetupFacts } from "./setup-facts.ts";
import { type SetupFile, textFile } from "./setup-file.ts";

/** Forwards the zone to the gateway by DNS over TLS. */
export function unboundConf(facts: SetupFacts): SetupFile {
  const { zone, host, addresses, dot } = facts;
  const at = `@${dot?.port ?? 853}#${host}`;
  const upstreams = dot?.address === undefined ? addresses : [dot.address];
  const top = zone.slice(zone.lastIndexOf(".") + 1);
  return textFile("clusterset-doh.conf", [
    "server:",
    "    # The zone is not signed, and services have private addresses.",
    `    domain-insecure: "${zone}"`,
    `    private-domain: "${zone}"`,
    // unbound answers these itself unless told not to (RFC 6761); a name of one label is the zone itself.
    ...(BUILT_IN.has(top) ? [`    local-zone: "${top}." nodefault`] : []),
    "",
    "forward-zone:",
    `    name: "${zone}"`,
    "    forward-tls-upstream: yes",
    ...(upstreams.length > 0
      ? upstreams.map((address) => `    forward-addr: ${address}${at}`)
      : [`    forward-host: ${host}${at}`]),
  ]);
}

/** Top-level domains that unbound denies by itself. */
const BUILT_IN = new Set(["test", "invalid", "onion", "localhost"]);

export const unbound: ClientSetup = {
  id: "unbound",
  title: "unbound",
  lacks: lacksDnsOverTls,
  steps: (facts) => [
    "Put the file into `/etc/unbound/unbound.conf.d`, check it with `unbound-checkconf`, reload unbound.",
    ...(isAddress(facts.host)
      ? ["unbound checks the certificate against the address that stands behind `#`."]
      : []),
    ...trustStep(facts),
  ],
  files: [unboundConf],
};
