import { addressStep, type ClientSetup } from "../client-setup.ts";
import { lacksListener, listenerOf } from "../listener.ts";
import { isAddress, type SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** Forwards the zone to the gateway by DNS over TLS, or by plain DNS if DNS over TLS is off. */
export function unboundConf(facts: SetupFacts): SetupFile {
  const { zone, host, isSelfSigned } = facts;
  const { overTls, address, port } = listenerOf(facts);
  const top = zone.slice(zone.lastIndexOf(".") + 1);
  return textFile("clusterset-doh.conf", [
    "server:",
    "    # The zone is not signed, and services have private addresses.",
    `    domain-insecure: "${zone}"`,
    `    private-domain: "${zone}"`,
    // unbound answers these zones itself by default (RFC 6761).
    ...(BUILT_IN.has(top) ? [`    local-zone: "${top}." nodefault`] : []),
    ...(overTls
      ? [`    tls-cert-bundle: "${isSelfSigned ? "/etc/unbound/certificate.crt" : SYSTEM_BUNDLE}"`]
      : []),
    "",
    "forward-zone:",
    `    name: "${zone}"`,
    ...(overTls ? ["    forward-tls-upstream: yes"] : []),
    `    forward-addr: ${address}@${port}${overTls ? `#${host}` : ""}`,
  ]);
}

/** Top-level domains that unbound denies by default. */
const BUILT_IN = new Set(["test", "invalid", "onion", "localhost"]);
/** The file of trusted authorities on Debian, Ubuntu and Alpine. */
const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

export const unbound: ClientSetup = {
  id: "unbound",
  title: "unbound",
  lacks: lacksListener,
  steps: (facts) => [
    "Put the file into `/etc/unbound/unbound.conf.d`, check it with `unbound-checkconf`, reload unbound.",
    ...(listenerOf(facts).overTls && isAddress(facts.host)
      ? ["The certificate must contain the address after `#`."]
      : []),
    ...(listenerOf(facts).overTls && facts.isSelfSigned
      ? [
          "The gateway's certificate is self-signed: put `certificate.crt` (below) at the path of `tls-cert-bundle`.",
        ]
      : []),
    ...addressStep(facts, facts.dot ?? facts.dns),
  ],
  files: [unboundConf],
};
