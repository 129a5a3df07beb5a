import type { ClientSetup } from "../client-setup.ts";
import { lacksAlias, trustStep } from "../client-setup.ts";
import { nameBasedUuid } from "../name-based-uuid.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/**
 * A configuration profile with a DNSSettings payload (Apple, Device Management): queries for the zone go to the gateway,
 * all others to the previous resolver. A profile for the same gateway and zone has the same UUIDs, so it replaces the previous one.
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
  return text.replace(/[&<>]/g, (character) =>
    character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;",
  );
}
