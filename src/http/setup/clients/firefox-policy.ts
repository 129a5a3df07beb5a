import { type ClientSetup, lacksAlias } from "../client-setup.ts";
import type { SetupFacts } from "../setup-facts.ts";
import { jsonFile, type SetupFile } from "../setup-file.ts";

/**
 * Enterprise policies of Firefox. For names that the gateway does not know Firefox asks the system's resolver (`Fallback`).
 * That needs the preferences: services have private addresses (RFC 1918), and the gateway need not know
 * example.com, which Firefox queries before it trusts a server.
 */
export function firefoxPolicy({ resource }: SetupFacts): SetupFile {
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

export const firefox: ClientSetup = {
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
