import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { startNetworkNamespace } from "../network-namespace.ts";
import type { ApiServer } from "./api-server.ts";
import type { NodeNetwork } from "./node-network.ts";

/** The parts of a Pod that are read here. */
interface Pod {
  metadata: { uid: string; name: string; namespace: string; deletionTimestamp?: string };
  spec: { containers: Container[] };
  status: { podIPs?: { ip: string }[] };
}

interface Container {
  command?: string[];
  args?: string[];
  env?: { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[];
}

const INTERVAL_MS = 200;

/** Runs containers with a `command` as programs, each pod in a network namespace. @returns what ends them */
export function runPods(server: ApiServer, network: NodeNetwork): () => Promise<void> {
  const running = new Map<string, () => void>();
  let stopped = false;
  const follow = async () => {
    while (!stopped) {
      const { items } = await server.admin.api<{ items: Pod[] }>("GET", "/api/v1/pods");
      const live = new Map(items.filter(runs).map((pod) => [pod.metadata.uid, pod]));
      for (const [uid, end] of running)
        if (!live.has(uid)) {
          running.delete(uid);
          end();
        }
      for (const [uid, pod] of live) if (!running.has(uid)) running.set(uid, await startPod(pod, network));
      await sleep(INTERVAL_MS);
    }
  };
  const following = follow();
  return async () => {
    stopped = true;
    await following;
    for (const end of running.values()) end();
  };
}

function runs({ metadata, spec, status }: Pod): boolean {
  const started = metadata.deletionTimestamp === undefined && (status.podIPs?.length ?? 0) > 0;
  return started && spec.containers.some(({ command }) => command !== undefined);
}

let links = 0;

async function startPod(pod: Pod, node: NodeNetwork): Promise<() => void> {
  const addresses = pod.status.podIPs!.map(({ ip }) => ip);
  const namespace = await startNetworkNamespace();
  const link = `pod${++links}`;
  // Each pod has the same gateway address, which the node has on each link: no address is spent on links.
  await node.namespace.run(
    `ip link add ${link} type veth peer name eth0 netns ${namespace.pid}`,
    `ip addr add 169.254.1.1/32 dev ${link}`,
    `ip addr add fe80::1/64 dev ${link} nodad`,
    `ip link set ${link} up`,
    ...addresses.map((address) => `ip route replace ${address} dev ${link}`),
  );
  await namespace.run(
    "ip link set eth0 up",
    ...addresses.map((address) => `ip addr add ${address} dev eth0${address.includes(":") ? " nodad" : ""}`),
    "ip route add 169.254.1.1 dev eth0",
    "ip route add default via 169.254.1.1",
    "ip route add default via fe80::1 dev eth0",
  );
  const programs = pod.spec.containers
    .filter(({ command }) => command !== undefined)
    .map((container) => startContainer(container, addresses, namespace.command));
  return () => {
    for (const { pid } of programs) if (pid !== undefined) endGroup(pid);
    namespace.close();
  };
}

function startContainer(
  { command = [], args = [], env = [] }: Container,
  podIPs: readonly string[],
  within: (...line: string[]) => [string, ...string[]],
): ChildProcess {
  const [program, ...line] = within(...command, ...args);
  const variables = env.map(({ name, value, valueFrom }) => {
    const path = valueFrom?.fieldRef?.fieldPath;
    if (path !== undefined && path !== "status.podIPs") throw new Error(`${path} is not supported here`);
    return [name, path === undefined ? (value ?? "") : podIPs.join(",")];
  });
  const child = spawn(program, line, {
    env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
    stdio: "ignore",
    detached: true,
  });
  child.on("error", () => {}); // a container that does not start answers nothing, which the tests see
  return child;
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
