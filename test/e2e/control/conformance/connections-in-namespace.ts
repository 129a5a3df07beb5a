/**
 * Starts both clusters in a network namespace that was made for it, and carries out what its parent process
 * sends.
 */
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect } from "node:net";
import { run } from "../../servers/run.ts";
import { waitFor } from "../../servers/wait.ts";
import { startClusters } from "./clusters.ts";
import type { Answer, Call } from "./connections.ts";
import { CLIENT_PORT, clientPod } from "./pods.ts";

// Every other process ends with this one, the first of its process namespace.
process.on("disconnect", () => process.exit());
await run("ip", ["link", "set", "lo", "up"]);
const { servers, networks } = await startClusters();
const clients = {
  "cluster-a": await startClient("cluster-a"),
  "cluster-b": await startClient("cluster-b"),
};
process.on("message", (call: Call) => void answer(call));
send({ id: 0, value: "ready" });

async function answer(call: Call): Promise<void> {
  const { id } = call;
  try {
    send({ id, value: await carryOut(call) });
  } catch (error) {
    send({ id, error: (error as Error).message });
  }
}

function carryOut(call: Call): Promise<unknown> {
  const { admin } = servers[call.cluster];
  if (call.action === "get") return admin.get(call.object);
  if (call.action === "list") return admin.api("GET", call.path);
  if (call.action === "apply") return admin.apply(...call.objects);
  if (call.action === "remove") return admin.remove(...call.objects);
  if (call.action === "resolve") return resolve(call);
  return inClient(call);
}

/** What the gateway answers to the pods of a cluster. */
async function resolve({ cluster, name, type }: Call & { action: "resolve" }): Promise<string[] | string> {
  const resolver = new Resolver();
  resolver.setServers([networks[cluster].router]);
  return resolver.resolve(name, type).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
}

/** Runs a pod whose port takes lines of a shell script; returns its address. */
async function startClient(cluster: keyof typeof servers): Promise<string> {
  const { admin } = servers[cluster];
  const pod = clientPod();
  return waitFor(`the client in ${cluster}`, async () => {
    const [{ status }] = (await admin.apply(pod)) as unknown as [{ status: { podIP?: string } }];
    return status.podIP;
  });
}

async function inClient({ cluster, script }: Call & { action: "run" }): Promise<string> {
  const socket = connect(CLIENT_PORT, clients[cluster]).setEncoding("utf8");
  await once(socket, "connect");
  socket.write(`${script}\nexit\n`);
  let output = "";
  for await (const text of socket) output += text;
  return output;
}

function send(message: Answer): void {
  process.send!(message);
}
