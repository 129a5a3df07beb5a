import type { ClientSetup } from "./client-setup.ts";
import { adguard } from "./clients/adguard.ts";
import { apple } from "./clients/apple-profile.ts";
import { chromium } from "./clients/chromium-policy.ts";
import { curl, dig } from "./clients/command-lines.ts";
import { coredns, corednsOfListener, corednsOnKubernetes } from "./clients/coredns.ts";
import { dnscryptProxy, dnscryptProxyRules } from "./clients/dnscrypt-proxy.ts";
import { dnsmasq } from "./clients/dnsmasq.ts";
import { firefox } from "./clients/firefox-policy.ts";
import { systemdResolved } from "./clients/systemd-resolved.ts";
import { unbound } from "./clients/unbound.ts";

/** Clients of one kind, in the order of the page. */
export interface ClientGroup {
  readonly title: string;
  readonly clients: readonly ClientSetup[];
}

export const CLIENT_GROUPS: readonly ClientGroup[] = [
  { title: "Command line", clients: [curl, dig] },
  { title: "Devices", clients: [apple, systemdResolved] },
  { title: "Browsers", clients: [chromium, firefox] },
  {
    title: "Resolvers",
    clients: [
      coredns,
      corednsOfListener,
      corednsOnKubernetes,
      unbound,
      dnsmasq,
      adguard,
      dnscryptProxy,
      dnscryptProxyRules,
    ],
  },
];
