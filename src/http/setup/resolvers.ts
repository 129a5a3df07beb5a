import { encodeBase64url } from "../messages/message.ts";
import {
  addressStep,
  type ClientSetup,
  gatewayAddress,
  inUrl,
  isAddress,
  lacksListener,
  lacksPlainDns,
  listenerOf,
  place,
  type SetupFacts,
  type SetupFile,
  textFile,
  trustStep,
} from "./facts.ts";

/** Forwards the zone to the gateway by DNS over TLS, or by plain DNS if DNS over TLS is off. */
function unboundConf(facts: SetupFacts): SetupFile {
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

const unbound: ClientSetup = {
  id: "unbound",
  title: "unbound",
  lacks: lacksListener,
  steps: (facts) => [
    "Put the file into `/etc/unbound/unbound.conf.d`, check it with `unbound-checkconf`, reload unbound.",
    ...(listenerOf(facts).overTls && isAddress(facts.host)
      ? ["The certificate must contain the address after `#`."]
      : []),
    ...(listenerOf(facts).overTls
      ? trustStep(facts, "put `certificate.crt` (below) at the path of `tls-cert-bundle`.")
      : []),
    ...addressStep(facts, facts.dot ?? facts.dns),
  ],
  files: [unboundConf],
};

/** Forwards the zone to the gateway's plain DNS, and allows private addresses. */
export function dnsmasqConf(facts: SetupFacts): SetupFile {
  const { zone, dns } = facts;
  const port = dns?.port ?? 53;
  return textFile("clusterset-doh.conf", [
    `server=/${zone}/${gatewayAddress(facts, dns)}${port === 53 ? "" : `#${port}`}`,
    `rebind-domain-ok=/${zone}/`,
  ]);
}

const dnsmasq: ClientSetup = {
  id: "dnsmasq",
  title: "dnsmasq",
  lacks: lacksPlainDns,
  steps: (facts) => [
    "Put the file into `/etc/dnsmasq.d`, check it with `dnsmasq --test`, restart dnsmasq.",
    ...addressStep(facts, facts.dns),
  ],
  files: [dnsmasqConf],
};

/** An upstream for one zone in the syntax of AdGuard Home and AdGuard's dnsproxy. */
export function adguardUpstream({ zone, resource }: SetupFacts): SetupFile {
  return textFile("adguard-upstream.txt", [`[/${zone}/]${resource}`]);
}

const adguard: ClientSetup = {
  id: "adguard",
  title: "AdGuard Home, dnsproxy",
  steps: (facts) => [
    "AdGuard Home: add the line to Settings, DNS settings, Upstream DNS servers, above the others.",
    `dnsproxy: \`--upstream='[/${facts.zone}/]${facts.resource}'\` in addition to your own \`--upstream\`.`,
    ...trustStep(facts),
  ],
  files: [adguardUpstream],
};

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

/**
 * A forwarding rule that sends only the zone to the gateway, by plain DNS: dnscrypt-proxy cannot forward by
 * another protocol.
 */
export function dnscryptProxyForwarding(facts: SetupFacts): SetupFile {
  const { zone, dns } = facts;
  return textFile("forwarding-rules.txt", [
    `${zone} ${place(gatewayAddress(facts, dns), dns?.port ?? 53, 53)}`,
  ]);
}

const dnscryptProxy: ClientSetup = {
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

const dnscryptProxyRules: ClientSetup = {
  id: "dnscrypt-proxy-rules",
  title: "dnscrypt-proxy, this zone only",
  lacks: lacksPlainDns,
  steps: (facts) => [
    "Name the file in `dnscrypt-proxy.toml`: `forwarding_rules = 'forwarding-rules.txt'`.",
    ...addressStep(facts, facts.dns),
  ],
  files: [dnscryptProxyForwarding],
};

const DOH = 0x02;
/** The gateway logs no queries (2) and filters nothing (4); it does not validate DNSSEC, which would be 1. */
const PROPERTIES = [2 | 4, 0, 0, 0, 0, 0, 0, 0];

/**
 * The DNS stamp of a DoH server (draft-denis-dns-stamps): protocol, properties (64 bits, little-endian),
 * address, hashes of certificates, host, path. It has no hash: the client verifies the certificate like a
 * browser.
 */
export function dnsStamp({ host, port, addresses, prefix }: SetupFacts): string {
  const bytes = [
    DOH,
    ...PROPERTIES,
    // Without the port, which follows the host; dnscrypt-proxy rejects it here.
    ...prefixed(inUrl(addresses[0] ?? "")),
    ...prefixed(""),
    ...prefixed(place(host, port, 443)),
    ...prefixed(`${prefix}/dns-query`),
  ];
  return `sdns://${encodeBase64url(Uint8Array.from(bytes))}`;
}

/** Text with its length before it: at most 127 bytes for an entry of a hash list, else 255. */
function prefixed(text: string): number[] {
  const bytes = [...new TextEncoder().encode(text)];
  return [bytes.length, ...bytes];
}

/**
 * A drop-in of resolved.conf(5): names of the zone (a routing domain, `~`) go to the gateway, by DNS over TLS
 * if it is on.
 */
function resolvedConf(facts: SetupFacts): SetupFile {
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
function resolvectlLines(facts: SetupFacts): SetupFile {
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

/** In the order of the page. */
export const RESOLVERS = [unbound, dnsmasq, adguard, dnscryptProxy, dnscryptProxyRules];
