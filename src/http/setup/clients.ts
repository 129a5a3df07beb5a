import { COREDNS } from "./coredns.ts";
import { apple, BROWSERS, COMMAND_LINE } from "./devices.ts";
import type { ClientSetup } from "./facts.ts";
import { RESOLVERS, systemdResolved } from "./resolvers.ts";

/** Clients of one kind, in the order of the page. */
interface ClientGroup {
  readonly title: string;
  readonly clients: readonly ClientSetup[];
}

export const CLIENT_GROUPS: readonly ClientGroup[] = [
  { title: "Command line", clients: COMMAND_LINE },
  { title: "Devices", clients: [apple, systemdResolved] },
  { title: "Browsers", clients: BROWSERS },
  { title: "Resolvers", clients: [...COREDNS, ...RESOLVERS] },
];
