import { join } from "node:path";
import { request } from "undici";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { ensureTool } from "../tools/tools.ts";

export async function startEtcd(folder: string) {
  const etcd = await ensureTool("etcd");
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  const process = await ServerProcess.start({
    name: "etcd",
    command: etcd,
    args: [
      "--name=e2e",
      `--data-dir=${join(folder, "etcd")}`,
      "--logger=zap",
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=e2e=${peerUrl}`,
      "--unsafe-no-fsync",
    ],
    folder,
    ready: async () => {
      const { statusCode, body } = await request(`${url}/health`);
      return (await body.text()).includes("true") && statusCode === 200;
    },
  });
  return {
    url,
    process,
    compact: () => compact(url),
    contents: () => contents(url),
    restore: (before: ReadonlyMap<string, string>, isLeft: (key: string) => boolean) =>
      restore(url, before, isLeft),
  };
}

/** Every key with its value, both in base64. */
async function contents(url: string): Promise<Map<string, string>> {
  // From the zero byte on, without an end.
  const everything = { key: "AA==", range_end: "AA==" };
  const { kvs = [] } = (await gateway(`${url}/v3/kv/range`, everything)) as {
    kvs?: { key: string; value?: string }[];
  };
  return new Map(kvs.map(({ key, value = "" }) => [key, value]));
}

/** Gives every key its value back but those that `isLeft` picks. @returns the keys that had changed */
async function restore(
  url: string,
  before: ReadonlyMap<string, string>,
  isLeft: (key: string) => boolean,
): Promise<string[]> {
  const now = await contents(url);
  const changed = [...new Set([...before.keys(), ...now.keys()])]
    .filter((key) => before.get(key) !== now.get(key))
    .map((key) => ({ key, name: Buffer.from(key, "base64").toString() }))
    .filter(({ name }) => !isLeft(name));
  for (const { key } of changed) {
    const value = before.get(key);
    if (value === undefined) await gateway(`${url}/v3/kv/deleterange`, { key });
    else await gateway(`${url}/v3/kv/put`, { key, value });
  }
  return changed.map(({ name }) => name);
}

/** Drops the history before now, as `etcdctl compact` does, and returns the revision. */
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
