import type { Tool } from "../../servers/tools/tools.ts";

/** What whole clusters are made of. */
export const CLUSTER_TOOLS: readonly Tool[] = [
  ...(["etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kwok"] as const),
  ...(["mcsCrds", "ip", "nft", "socat", "nc"] as const),
];

/**
 * The command line that runs a program of ours as root in namespaces of its own. Nothing in there reaches
 * this machine's networks, and every process in there ends with the program.
 */
export function isolated(program: string, ...args: string[]): [string, ...string[]] {
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return ["unshare", ...namespaces, process.execPath, program, ...args];
}
