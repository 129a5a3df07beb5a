import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startNetworkNamespace } from "../network-namespace.ts";
import { run } from "../run.ts";
import { temporaryFolder } from "../tools/folders.ts";

/** The network of one node: a namespace that is linked to this process's, which routes between nodes. */
export type NodeNetwork = Awaited<ReturnType<typeof startNodeNetwork>>;

/** The addresses of the node with this number, from 1. */
export function nodeAddresses(number: number) {
  return {
    /** This process's end of the link to the node, where it also listens for the node: DNS at port 53. */
    router: `10.89.${number}.1`,
    address: `10.89.${number}.2`,
    routerV6: `fd00:89:${number}::1`,
    addressV6: `fd00:89:${number}::2`,
    podCidrs: [`10.244.${number}.0/24`, `fd00:244:${number}::/64`] as const,
  };
}

/** Makes the network of a node. This process must be in a network namespace made for it, where it is root. */
export async function startNodeNetwork(number: number) {
  const folder = temporaryFolder("node");
  const addresses = nodeAddresses(number);
  const { router, address, routerV6, addressV6, podCidrs } = addresses;
  const resolvConf = join(folder, "resolv.conf");
  writeFileSync(resolvConf, `nameserver ${router}\n`);
  const namespace = await startNetworkNamespace(resolvConf);
  const link = `node${number}`;
  await sh(
    ...FORWARDING,
    `ip link add ${link} type veth peer name eth0 netns ${namespace.pid}`,
    `ip addr add ${router}/24 dev ${link}`,
    `ip addr add ${routerV6}/64 dev ${link} nodad`,
    `ip link set ${link} up`,
  );
  await namespace.run(
    ...FORWARDING,
    `ip addr add ${address}/24 dev eth0`,
    `ip addr add ${addressV6}/64 dev eth0 nodad`,
    "ip link set eth0 up",
    `ip route add default via ${router}`,
    `ip route add default via ${routerV6}`,
  );
  await sh(`ip route add ${podCidrs[0]} via ${address}`, `ip route add ${podCidrs[1]} via ${addressV6}`);
  const shell = join(folder, "sh");
  const line = namespace.command("/bin/sh").join(" ");
  writeFileSync(shell, `#!/bin/sh\nexec ${line} "$@" 2>&1\n`);
  chmodSync(shell, 0o755);
  // The folder has a program `sh` that runs its commands in this network.
  return { ...addresses, namespace, shell: folder };
}

const FORWARDING = [
  "echo 1 > /proc/sys/net/ipv4/ip_forward",
  "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
];

async function sh(...lines: string[]): Promise<void> {
  await run("sh", ["-ec", lines.join("\n")]);
}
