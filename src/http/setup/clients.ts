import { encodeBase64url } from "../messages/message.ts";
import { type DnsPort, inUrl, isAddress, place, type SetupFacts } from "./facts.ts";

/** The instructions for one client. */
export interface ClientSetup {
  readonly group: "Command line" | "Devices" | "Browsers" | "Resolvers";
  /** The anchor for links on a page. */
  readonly id: string;
  readonly title: string;
  /**
   * One or two sentences: the setting that this client needs before it can use the gateway. Undefined if it
   * needs none.
   */
  readonly lacks?: string | undefined;
  /** The steps with the files, one or two sentences each. */
  readonly steps: readonly string[];
  /** Texts by the file names that the client or its user expects. */
  readonly files: Readonly<Record<string, string>>;
}

/** The placeholder in a file for an unknown address. */
const UNKNOWN_ADDRESS = "GATEWAY_ADDRESS";

/** Top-level domains that unbound denies by default. */
const BUILT_IN = new Set(["test", "invalid", "onion", "localhost"]);
/** The file of trusted authorities on Debian, Ubuntu and Alpine. */
const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";

/** All clients by group, in the order of the page. */
export async function clientsFor(facts: SetupFacts): Promise<readonly ClientSetup[]> {
  const { zone, origin, prefix, resource, host, addresses, example, outside, dns, dot, isSelfSigned } = facts;

  /** The gateway's address for a client: that of the listener, if it listens on only one address. */
  const addressAt = (listener?: DnsPort) => listener?.address ?? addresses[0] ?? UNKNOWN_ADDRESS;
  /** The step for a file with this address. */
  const knowing = (address: string) =>
    address === UNKNOWN_ADDRESS && `Replace \`${UNKNOWN_ADDRESS}\` by the IP address of ${host}.`;
  const address = addressAt();
  const plainAddress = addressAt(dns);

  /** For clients without DNS over HTTPS: DNS over TLS if it is on, else plain DNS. */
  const listener = { address: addressAt(dot ?? dns), port: (dot ?? dns)?.port ?? 853 };
  const overTls = dot !== undefined || dns === undefined;
  const lacksListener =
    dns === undefined && dot === undefined
      ? "This client forwards by DNS over TLS or plain DNS, and this gateway listens for neither: start it with `--dot ADDRESS:853` or `--dns ADDRESS:PORT` (settings `dot.listen`, `dns.listen`; not on serverless hosts)."
      : undefined;
  const lacksPlainDns =
    dns === undefined
      ? "This client forwards by plain DNS only, and this gateway does not listen for it: start it with `--dns ADDRESS:PORT` (setting `dns.listen`; not on serverless hosts)."
      : undefined;
  // Browsers and Apple's systems keep `.local` for multicast DNS (RFC 6762).
  const lacksAlias = /(?:^|\.)local$/.test(zone)
    ? "Names that end in .local never leave this client by DNS over HTTPS (RFC 6762). Serve an alias zone, such as clusterset.test or a domain of yours (setting `zones`), and choose it above."
    : undefined;
  // CoreDNS always uses the path `/dns-query`.
  const lacksPath =
    prefix === ""
      ? undefined
      : "CoreDNS cannot set a path, so it cannot send your token. Use a token in the host name for it (setting `access.rules[].hostTokens`).";

  const trusting = (step: string) => isSelfSigned && `The gateway's certificate is self-signed: ${step}`;
  const trust = trusting("make this client trust `certificate.crt` (below) first.");
  const trustInCoreDns = trusting("give CoreDNS `certificate.crt` (below), and its path in the block.");

  const curl = isSelfSigned ? "curl --cacert certificate.crt" : "curl";
  const digServer = isAddress(host) || addresses.length === 0 ? host : address;
  const digPath = prefix === "" ? "" : `=${prefix}/dns-query`;
  const digRest = `@${digServer}${facts.port === 443 ? "" : ` -p ${facts.port}`} ${example.name} ${example.type}`;
  const resolvedServer = `${inUrl(listener.address)}:${listener.port}${overTls ? `#${host}` : ""}`;
  const overHttps = serverBlock(facts, `https://${place(address, facts.port, 443)}`);
  const byListener = serverBlock(
    facts,
    overTls
      ? `tls://${place(listener.address, listener.port, 853)}`
      : `dns://${place(listener.address, listener.port, 53)}`,
  );
  const block = lacksListener === undefined ? byListener : overHttps;

  return [
    {
      group: "Command line",
      id: "curl",
      title: "curl",
      steps: some(
        "With `--doh-url` curl sends every name of that command to the gateway.",
        trusting("save `certificate.crt` (below) in the folder where you run the line."),
      ),
      files: {
        "curl.sh": lines(
          (example.type === "A" || example.type === "AAAA") &&
            `${curl} -v --doh-url '${resource}' 'http://${example.name}/'`,
          `${curl} -sS '${origin}${prefix}/resolve?name=${example.name}&type=${example.type}'`,
        ),
      },
    },
    {
      // dig of BIND 9.18 and newer, kdig of Knot.
      group: "Command line",
      id: "dig",
      title: "dig, kdig",
      steps: ["They verify the gateway's certificate only with `+tls-ca`."],
      files: {
        "dig.sh": lines(
          `dig +https${digPath} ${digRest}`,
          `dig +https-get${digPath} ${digRest}`,
          `kdig +https${digPath} ${digRest}`,
          `kdig +https${digPath} +https-get ${digRest}`,
        ),
      },
    },
    {
      group: "Devices",
      id: "apple",
      title: "macOS, iOS, iPadOS",
      lacks: lacksAlias,
      steps: some(
        "Open the file on the device. On macOS, install it in System Settings, General, Device Management; on iOS and iPadOS, in Settings, General, VPN & Device Management.",
        `Only names of ${zone} go to the gateway; all others resolve as before.`,
        trust,
      ),
      files: { [`${zone}.mobileconfig`]: await appleProfile(facts) },
    },
    {
      group: "Devices",
      id: "systemd-resolved",
      title: "systemd-resolved",
      lacks: lacksListener,
      steps: some(
        "Permanently: put the file into `/etc/systemd/resolved.conf.d`, then `systemctl restart systemd-resolved`. `resolvectl status` shows it.",
        "Temporarily: run the lines with the name of a link, such as a VPN's, in place of `LINK`.",
        // resolved.conf(5), Domains=: global servers are used in addition to those of links.
        "If no link has servers of its own, systemd-resolved sends all other names to these servers, too.",
        knowing(listener.address),
        dot !== undefined && trust,
      ),
      files: {
        // Names of the zone (a routing domain, `~`) go to the gateway. The zone has no DNSSEC signatures.
        "clusterset-doh.conf": lines(
          "[Resolve]",
          `DNS=${resolvedServer}`,
          `Domains=~${zone}`,
          `DNSOverTLS=${overTls ? "yes" : "no"}`,
          "DNSSEC=no",
        ),
        // The same for one link, until it goes down or the machine restarts.
        "resolvectl.sh": lines(
          `resolvectl dns LINK ${resolvedServer}`,
          `resolvectl domain LINK '~${zone}'`,
          `resolvectl dnsovertls LINK ${overTls ? "yes" : "no"}`,
          "resolvectl dnssec LINK no",
        ),
      },
    },
    {
      group: "Browsers",
      id: "chromium",
      title: "Chromium, Chrome, Edge",
      lacks: lacksAlias,
      steps: some(
        "Linux: put the file into `/etc/chromium/policies/managed` (Chromium) or `/etc/opt/chrome/policies/managed` (Chrome). Windows: set both values below `HKLM\\Software\\Policies\\Google\\Chrome`. macOS: use the profile for macOS instead. `chrome://policy` shows what arrived.",
        outside !== "forward" &&
          `This gateway answers its own zones only, and this client sends it every name: with this file it resolves ${zone} and nothing else. Set \`outsideZones\` to \`forward\`, or use the file in a separate profile or on a separate machine.`,
        trust,
      ),
      files: {
        // `secure`, because `automatic` uses a server only after it has resolved www.gstatic.com, and falls
        // back to the system's resolver for all names that the server refuses.
        "clusterset-doh.json": json({
          DnsOverHttpsMode: "secure",
          DnsOverHttpsTemplates: `${resource}{?dns}`,
        }),
      },
    },
    {
      group: "Browsers",
      id: "firefox",
      title: "Firefox",
      lacks:
        lacksAlias ??
        (isSelfSigned
          ? "Firefox does not accept a self-signed certificate for DNS over HTTPS, even if it is trusted: give the gateway a certificate of an authority that Firefox trusts (settings `tls.certificateFile` and `tls.keyFile`)."
          : undefined),
      steps: [
        "Linux: put the file into `/etc/firefox/policies`. Windows: into a folder named `distribution` beside `firefox.exe`. macOS: into `Firefox.app/Contents/Resources/distribution`. `about:policies` shows the result.",
        outside === "forward"
          ? "Firefox sends every name to the gateway, and those that it cannot resolve to the system's resolver."
          : "Firefox sends every name to the gateway, and those that it refuses to the system's resolver: all names work, and the gateway sees them all.",
      ],
      files: {
        // For names that the gateway does not know Firefox asks the system's resolver (`Fallback`). That
        // needs the preferences: services have private addresses (RFC 1918), and the gateway need not know
        // example.com, which Firefox queries before it trusts a server.
        "policies.json": json({
          policies: {
            DNSOverHTTPS: { Enabled: true, ProviderURL: resource, Fallback: true, ExcludedDomains: [] },
            Preferences: {
              "network.trr.allow-rfc1918": { Value: true, Status: "default" },
              "network.trr.confirmationNS": { Value: "skip", Status: "default" },
            },
          },
        }),
      },
    },
    {
      group: "Resolvers",
      id: "coredns",
      title: "CoreDNS by DNS over HTTPS (1.14.5 and newer)",
      lacks: lacksPath,
      steps: some(
        "Add the server block to the Corefile, after the existing ones. CoreDNS queries the path `/dns-query`, and so is a client outside the clusters.",
        knowing(address),
        trustInCoreDns,
      ),
      files: { Corefile: overHttps },
    },
    {
      group: "Resolvers",
      id: "coredns-dns",
      title: "CoreDNS, any version",
      lacks: lacksListener,
      steps: some(
        "Add the server block to the Corefile, after the existing ones.",
        knowing(listener.address),
        overTls && trustInCoreDns,
      ),
      files: { "Corefile-dns": byListener },
    },
    {
      group: "Resolvers",
      id: "coredns-kubernetes",
      title: "CoreDNS in a Kubernetes cluster",
      lacks: lacksListener && lacksPath,
      steps: some(
        "AKS, k3s and others import a ConfigMap of their users: `kubectl apply -f coredns-custom.yaml`.",
        "kubeadm and kind: name `coredns-patch.yaml` below `patches` in a kustomization whose resources hold your ConfigMap `coredns`. It replaces the whole Corefile: compare everything after the first block with yours before.",
        "Then `kubectl -n kube-system rollout restart deployment coredns`.",
        lacksListener !== undefined &&
          "The block needs CoreDNS 1.14.5 or newer. If the gateway has DNS over TLS or plain DNS enabled (`--dot`, `--dns`) this page has one for any CoreDNS.",
        knowing(listener.address),
        overTls && trustInCoreDns,
      ),
      files: {
        // From this ConfigMap, or a kustomize patch of it, they let CoreDNS import `*.server`.
        "coredns-custom.yaml": configMap("coredns-custom", "clusterset-doh.server", block),
        // The Corefile of kubeadm's ConfigMap is one value, so a patch replaces all of it.
        "coredns-patch.yaml": configMap("coredns", "Corefile", block + KUBEADM_COREFILE),
      },
    },
    {
      group: "Resolvers",
      id: "unbound",
      title: "unbound",
      lacks: lacksListener,
      steps: some(
        "Put the file into `/etc/unbound/unbound.conf.d`, check it with `unbound-checkconf`, reload unbound.",
        overTls && isAddress(host) && "The certificate must contain the address after `#`.",
        overTls && trusting("put `certificate.crt` (below) at the path of `tls-cert-bundle`."),
        knowing(listener.address),
      ),
      files: {
        "clusterset-doh.conf": lines(
          "server:",
          "    # The zone is not signed, and services have private addresses.",
          `    domain-insecure: "${zone}"`,
          `    private-domain: "${zone}"`,
          // unbound answers these zones itself by default (RFC 6761).
          BUILT_IN.has(topOf(zone)) && `    local-zone: "${topOf(zone)}." nodefault`,
          overTls &&
            `    tls-cert-bundle: "${isSelfSigned ? "/etc/unbound/certificate.crt" : SYSTEM_BUNDLE}"`,
          "",
          "forward-zone:",
          `    name: "${zone}"`,
          overTls && "    forward-tls-upstream: yes",
          `    forward-addr: ${listener.address}@${listener.port}${overTls ? `#${host}` : ""}`,
        ),
      },
    },
    {
      group: "Resolvers",
      id: "dnsmasq",
      title: "dnsmasq",
      lacks: lacksPlainDns,
      steps: some(
        "Put the file into `/etc/dnsmasq.d`, check it with `dnsmasq --test`, restart dnsmasq.",
        knowing(plainAddress),
      ),
      files: {
        // Its protection from rebinding lets this zone have private addresses.
        "clusterset-doh.conf": lines(
          `server=/${zone}/${plainAddress}${dns === undefined || dns.port === 53 ? "" : `#${dns.port}`}`,
          `rebind-domain-ok=/${zone}/`,
        ),
      },
    },
    {
      group: "Resolvers",
      id: "adguard",
      title: "AdGuard Home, dnsproxy",
      steps: some(
        "AdGuard Home: add the line to Settings, DNS settings, Upstream DNS servers, above the others.",
        `dnsproxy: \`--upstream='[/${zone}/]${resource}'\` in addition to your own \`--upstream\`.`,
        trust,
      ),
      files: { "adguard-upstream.txt": lines(`[/${zone}/]${resource}`) },
    },
    {
      group: "Resolvers",
      id: "dnscrypt-proxy",
      title: "dnscrypt-proxy, every name",
      lacks:
        outside === "refuse"
          ? "dnscrypt-proxy drops a server that refuses names out of its zones: set `outsideZones` to `forward` (or `nxdomain`), or use its forwarding rules."
          : undefined,
      steps: some(
        "Add the lines to `dnscrypt-proxy.toml`: `server_names` at the top, the section at the end.",
        outside === "nxdomain" &&
          `This gateway denies every name out of its zones: with these lines only ${zone} resolves.`,
        trust,
      ),
      files: {
        "dnscrypt-proxy.toml": lines(
          `# For dnscrypt-proxy.toml: ${resource}`,
          "server_names = ['clusterset-doh']",
          "",
          "[static.'clusterset-doh']",
          `stamp = '${dnsStamp(facts)}'`,
        ),
      },
    },
    {
      group: "Resolvers",
      id: "dnscrypt-proxy-rules",
      title: "dnscrypt-proxy, this zone only",
      lacks: lacksPlainDns,
      steps: some(
        "Name the file in `dnscrypt-proxy.toml`: `forwarding_rules = 'forwarding-rules.txt'`.",
        knowing(plainAddress),
      ),
      // By plain DNS: dnscrypt-proxy cannot forward by another protocol.
      files: { "forwarding-rules.txt": lines(`${zone} ${place(plainAddress, dns?.port ?? 53, 53)}`) },
    },
  ];
}

/** Those that there are. */
const some = (...all: readonly (string | false)[]) => all.filter((one) => one !== false);

/** A text of lines; the last one has a line end, too. */
const lines = (...all: readonly (string | false)[]) => `${some(...all).join("\n")}\n`;

const json = (value: unknown) => lines(JSON.stringify(value, undefined, 2));

const topOf = (zone: string) => zone.slice(zone.lastIndexOf(".") + 1);

/** A server block of CoreDNS that forwards the zone to the gateway. */
function serverBlock({ zone, host, isSelfSigned }: SetupFacts, upstream: string): string {
  const isPlain = upstream.startsWith("dns://");
  const options = some(
    !isPlain && !isAddress(host) && `        tls_servername ${host}`,
    !isPlain && isSelfSigned && "        tls certificate.crt",
  );
  return lines(
    `${zone}:53 {`,
    "    errors",
    "    cache 5",
    ...(options.length === 0
      ? [`    forward . ${upstream}`]
      : [`    forward . ${upstream} {`, ...options, "    }"]),
    "}",
  );
}

function configMap(name: string, key: string, text: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: kube-system
data:
  ${key}: |
${text.replace(/^/gm, "    ").trimEnd()}
`;
}

const KUBEADM_COREFILE = `# From here on: kubeadm's default. Use your own.
.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`;

/**
 * A configuration profile with a DNSSettings payload (Apple, Device Management): queries for the zone go to
 * the gateway, all others to the previous resolver. A profile for the same gateway and zone has the same
 * UUIDs, so it replaces the previous one. No text needs escapes: `readSetupFacts` admits no `&` and `<`.
 */
async function appleProfile({ zone, resource, host, addresses }: SetupFacts): Promise<string> {
  const [profile, payload] = await Promise.all([
    nameBasedUuid(`${resource}#${zone}`),
    nameBasedUuid(`${resource}#${zone}/dns`),
  ]);
  const serverAddresses = addresses.map((address) => `          <string>${address}</string>\n`).join("");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>PayloadContent</key>
  <array>
    <dict>
      <key>DNSSettings</key>
      <dict>
        <key>DNSProtocol</key>
        <string>HTTPS</string>
        <key>ServerURL</key>
        <string>${resource}</string>
${serverAddresses && `        <key>ServerAddresses</key>\n        <array>\n${serverAddresses}        </array>\n`}\
        <key>SupplementalMatchDomains</key>
        <array>
          <string>${zone}</string>
        </array>
      </dict>
      <key>PayloadDescription</key>
      <string>Names of ${zone} are resolved at ${resource}.</string>
      <key>PayloadDisplayName</key>
      <string>DNS for ${zone}</string>
      <key>PayloadIdentifier</key>
      <string>clusterset-doh.${payload}</string>
      <key>PayloadType</key>
      <string>com.apple.dnsSettings.managed</string>
      <key>PayloadUUID</key>
      <string>${payload}</string>
      <key>PayloadVersion</key>
      <integer>1</integer>
    </dict>
  </array>
  <key>PayloadDescription</key>
  <string>Resolves ${zone} with clusterset-doh at ${host}. Other names resolve as before.</string>
  <key>PayloadDisplayName</key>
  <string>${zone} (clusterset-doh)</string>
  <key>PayloadIdentifier</key>
  <string>clusterset-doh.${profile}</string>
  <key>PayloadRemovalDisallowed</key>
  <false/>
  <key>PayloadScope</key>
  <string>System</string>
  <key>PayloadType</key>
  <string>Configuration</string>
  <key>PayloadUUID</key>
  <string>${profile}</string>
  <key>PayloadVersion</key>
  <integer>1</integer>
</dict>
</plist>
`;
}

/** The namespace for URLs (RFC 9562 section 6.6), 6ba7b811-9dad-11d1-80b4-00c04fd430c8. */
const URL_NAMESPACE = [
  0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
];

/** The UUID, version 5, of a URL (RFC 9562 section 5.5), in upper case, as in Apple's profiles. */
export async function nameBasedUuid(url: string): Promise<string> {
  const name = Uint8Array.of(...URL_NAMESPACE, ...new TextEncoder().encode(url));
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", name)).slice(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-").toUpperCase();
}

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
