import { coredns, corednsOfListener, corednsOnKubernetes } from "./coredns.ts";
import { apple, chromium, curl, dig, firefox } from "./devices.ts";
import type { ClientSetup } from "./facts.ts";
import {
  adguard,
  dnscryptProxy,
  dnscryptProxyRules,
  dnsmasq,
  systemdResolved,
  unbound,
} from "./resolvers.ts";

/** Clients of one kind, in the order of the page. */
interface ClientGroup {
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
