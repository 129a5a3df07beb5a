import { join } from "node:path";
import { request } from "undici";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { ensureTools } from "../tools/tools.ts";

/** A running etcd with one member. */
export interface Etcd {
  url: string;
  process: ServerProcess;
  /** Drops the history before now, as `etcdctl compact` does, and returns the revision. */
  compact(): Promise<string>;
}

/** Starts an etcd that keeps its data in `folder`. */
export async function startEtcd(folder: string): Promise<Etcd> {
  const { etcd } = await ensureTools();
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const process = await ServerProcess.start({
    name: "etcd",
    command: etcd,
    args: [
      ...["--name", "e2e", "--data-dir", join(folder, "etcd"), "--logger", "zap"],
      ...["--listen-client-urls", url, "--advertise-client-urls", url],
      ...["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl],
      ...["--initial-cluster", `e2e=${peerUrl}`, "--unsafe-no-fsync"],
    ],
    folder,
    ready: async () => {
      const { statusCode, body } = await request(`${url}/health`);
      return (await body.text()).includes("true") && statusCode === 200;
    },
  });
  return { url, process, compact: () => compact(url) };
}

async function compact(url: string): Promise<string> {
  const key = Buffer.from("any").toString("base64");
  const { header } = (await gateway(`${url}/v3/kv/range`, { key })) as { header: { revision: string } };
  await gateway(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
  return header.revision;
}

/** etcd's HTTP gateway takes and gives the messages of its gRPC API as JSON. */
async function gateway(url: string, message: unknown): Promise<unknown> {
  const { statusCode, body } = await request(url, { method: "POST", body: JSON.stringify(message) });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${text}`);
  return JSON.parse(text);
}
