import { adguard } from "./adguard.ts";
import { apple } from "./apple-profile.ts";
import { chromium } from "./chromium-policy.ts";
import type { ClientSetup } from "./client-setup.ts";
import { curl, dig } from "./command-lines.ts";
import { coredns, corednsOfListener, corednsOnKubernetes } from "./coredns.ts";
import { dnscryptProxy, dnscryptProxyRules } from "./dnscrypt-proxy.ts";
import { dnsmasq } from "./dnsmasq.ts";
import { firefox } from "./firefox-policy.ts";
import { systemdResolved } from "./systemd-resolved.ts";
import { unbound } from "./unbound.ts";
import { windows } from "./windows-script.ts";

/** Clients of one kind, in the order of the page. */
export interface ClientGroup {
  readonly title: string;
  readonly clients: readonly ClientSetup[];
}

export const CLIENT_GROUPS: readonly ClientGroup[] = [
  { title: "Command line", clients: [curl, dig] },
  { title: "Devices", clients: [apple, windows, systemdResolved] },
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
