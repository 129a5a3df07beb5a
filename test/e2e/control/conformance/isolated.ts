import type { Tool } from "../../servers/tools/tools.ts";

/** What whole clusters are made of. */
export const CLUSTER_TOOLS: readonly Tool[] = [
  ...(["etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kwok"] as const),
  ...(["mcsCrds", "ip", "nft", "socat", "nc"] as const),
];

/**
 * Runs the command line behind it as root in namespaces of its own. Nothing in there reaches this machine's
 * networks, and every process in there ends with the program.
 */
export const ISOLATED: readonly [string, ...string[]] = [
  "unshare",
  ...["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
];
