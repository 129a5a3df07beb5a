import {
  type ClientSetup,
  gatewayAddress,
  isAddress,
  jsonFile,
  lacksAlias,
  otherNamesStep,
  type SetupFacts,
  type SetupFile,
  textFile,
  trustStep,
} from "./facts.ts";

/**
 * A configuration profile with a DNSSettings payload (Apple, Device Management): queries for the zone go to
 * the gateway, all others to the previous resolver. A profile for the same gateway and zone has the same
 * UUIDs, so it replaces the previous one.
 */
export async function appleProfile(facts: SetupFacts): Promise<SetupFile> {
  const { zone, resource, addresses } = facts;
  const [profile, payload] = await Promise.all([
    nameBasedUuid(`${resource}#${zone}`),
    nameBasedUuid(`${resource}#${zone}/dns`),
  ]);
  const settings: PropertyList = {
    DNSProtocol: "HTTPS",
    ServerURL: resource,
    ...(addresses.length > 0 && { ServerAddresses: addresses }),
    SupplementalMatchDomains: [zone],
  };
  const root: PropertyList = {
    PayloadContent: [
      {
        DNSSettings: settings,
        PayloadDescription: `Names of ${zone} are resolved at ${resource}.`,
        PayloadDisplayName: `DNS for ${zone}`,
        PayloadIdentifier: `clusterset-doh.${payload}`,
        PayloadType: "com.apple.dnsSettings.managed",
        PayloadUUID: payload,
        PayloadVersion: 1,
      },
    ],
    PayloadDescription: `Resolves ${zone} with clusterset-doh at ${facts.host}. Other names resolve as before.`,
    PayloadDisplayName: `${zone} (clusterset-doh)`,
    PayloadIdentifier: `clusterset-doh.${profile}`,
    PayloadRemovalDisallowed: false,
    PayloadScope: "System",
    PayloadType: "Configuration",
    PayloadUUID: profile,
    PayloadVersion: 1,
  };
  return textFile(
    `${zone}.mobileconfig`,
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      '<plist version="1.0">',
      ...render(root, ""),
      "</plist>",
    ],
    "application/x-apple-aspen-config",
  );
}

export const apple: ClientSetup = {
  id: "apple",
  title: "macOS, iOS, iPadOS",
  lacks: lacksAlias,
  steps: (facts) => [
    "Open the file on the device. On macOS, install it in System Settings, General, Device Management; on iOS and iPadOS, in Settings, General, VPN & Device Management.",
    `Only names of ${facts.zone} go to the gateway; all others resolve as before.`,
    ...trustStep(facts),
  ],
  files: [appleProfile],
};

type PropertyList =
  | string
  | number
  | boolean
  | readonly PropertyList[]
  | { readonly [key: string]: PropertyList };

function render(value: PropertyList, indent: string): string[] {
  const inner = `${indent}  `;
  if (typeof value === "string") return [`${indent}<string>${escapeXml(value)}</string>`];
  if (typeof value === "number") return [`${indent}<integer>${value}</integer>`];
  if (typeof value === "boolean") return [`${indent}<${value}/>`];
  if (Array.isArray(value))
    return [`${indent}<array>`, ...value.flatMap((one) => render(one, inner)), `${indent}</array>`];
  const entries = Object.entries(value).flatMap(([key, one]) => [
    `${inner}<key>${escapeXml(key)}</key>`,
    ...render(one, inner),
  ]);
  return [`${indent}<dict>`, ...entries, `${indent}</dict>`];
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
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

/**
 * A managed policy of Chromium, Chrome and Edge. `secure`, because `automatic` uses a server only after it
 * has resolved www.gstatic.com, and falls back to the system's resolver for all names that the server
 * refuses.
 */
function chromiumPolicy({ resource }: SetupFacts): SetupFile {
  return jsonFile("clusterset-doh.json", {
    DnsOverHttpsMode: "secure",
    DnsOverHttpsTemplates: `${resource}{?dns}`,
  });
}

const chromium: ClientSetup = {
  id: "chromium",
  title: "Chromium, Chrome, Edge",
  lacks: lacksAlias,
  steps: (facts) => [
    "Linux: put the file into `/etc/chromium/policies/managed` (Chromium) or `/etc/opt/chrome/policies/managed` (Chrome). Windows: set both values below `HKLM\\Software\\Policies\\Google\\Chrome`. macOS: use the profile for macOS instead. `chrome://policy` shows what arrived.",
    ...otherNamesStep(facts),
    ...trustStep(facts),
  ],
  files: [chromiumPolicy],
};

/**
 * Enterprise policies of Firefox. For names that the gateway does not know Firefox asks the system's resolver
 * (`Fallback`). That needs the preferences: services have private addresses (RFC 1918), and the gateway need
 * not know example.com, which Firefox queries before it trusts a server.
 */
function firefoxPolicy({ resource }: SetupFacts): SetupFile {
  const preference = (value: boolean | string) => ({ Value: value, Status: "default" });
  return jsonFile("policies.json", {
    policies: {
      DNSOverHTTPS: { Enabled: true, ProviderURL: resource, Fallback: true, ExcludedDomains: [] },
      Preferences: {
        "network.trr.allow-rfc1918": preference(true),
        "network.trr.confirmationNS": preference("skip"),
      },
    },
  });
}

const firefox: ClientSetup = {
  id: "firefox",
  title: "Firefox",
  lacks: (facts) =>
    lacksAlias(facts) ??
    (facts.isSelfSigned
      ? "Firefox does not accept a self-signed certificate for DNS over HTTPS, even if it is trusted: give the gateway a certificate of an authority that Firefox trusts (settings `tls.certificateFile` and `tls.keyFile`)."
      : undefined),
  steps: (facts) => [
    "Linux: put the file into `/etc/firefox/policies`. Windows: into a folder named `distribution` beside `firefox.exe`. macOS: into `Firefox.app/Contents/Resources/distribution`. `about:policies` shows the result.",
    facts.outside === "forward"
      ? "Firefox sends every name to the gateway, and those that it cannot resolve to the system's resolver."
      : "Firefox sends every name to the gateway, and those that it refuses to the system's resolver: all names work, and the gateway sees them all.",
  ],
  files: [firefoxPolicy],
};

/** curl: a name resolved by the gateway, and the answer as JSON. */
function curlLines(facts: SetupFacts): SetupFile {
  const { resource, origin, prefix, example } = facts;
  const trust = facts.isSelfSigned ? " --cacert certificate.crt" : "";
  return textFile("curl.sh", [
    ...(example.type === "A" || example.type === "AAAA"
      ? [`curl${trust} -v --doh-url '${resource}' 'http://${example.name}/'`]
      : []),
    `curl${trust} -sS '${origin}${prefix}/resolve?name=${example.name}&type=${example.type}'`,
  ]);
}

/** dig (BIND 9.18 and newer) and kdig (Knot), by POST and by GET. */
function digLines(facts: SetupFacts): SetupFile {
  const { port, example, host, prefix } = facts;
  const question = `${example.name} ${example.type}`;
  const server = isAddress(host) || facts.addresses.length === 0 ? host : gatewayAddress(facts);
  const at = `@${server}${port === 443 ? "" : ` -p ${port}`}`;
  const path = prefix === "" ? "" : `=${prefix}/dns-query`;
  return textFile("dig.sh", [
    `dig +https${path} ${at} ${question}`,
    `dig +https-get${path} ${at} ${question}`,
    `kdig +https${path} ${at} ${question}`,
    `kdig +https${path} +https-get ${at} ${question}`,
  ]);
}

const curl: ClientSetup = {
  id: "curl",
  title: "curl",
  steps: (facts) => [
    "With `--doh-url` curl sends every name of that command to the gateway.",
    ...trustStep(facts, "save `certificate.crt` (below) in the folder where you run the line."),
  ],
  files: [curlLines],
};

const dig: ClientSetup = {
  id: "dig",
  title: "dig, kdig",
  steps: () => ["They verify the gateway's certificate only with `+tls-ca`."],
  files: [digLines],
};

/** In the order of the page. */
export const BROWSERS = [chromium, firefox];
export const COMMAND_LINE = [curl, dig];
