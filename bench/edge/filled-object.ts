import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { request } from "undici";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { createDurableObjectStore } from "../../src/store/rows/durable-object-store.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { wholeOf } from "../../test/store/changes.ts";
import { sqliteDouble } from "../../test/store/rows/sqlite-double.ts";
import { type Answering, type Deployment, startObject } from "./location.ts";

const DAY = 86_400_000;

/** Starts the object over the rows of these clusters, and resolves when it has compiled and stored them. */
export async function startFilledObject(
  deployment: Deployment,
  snapshots: Iterable<ClusterSnapshot>,
): Promise<Answering> {
  const state = temporaryFolder("state");
  const object = await startObject(deployment, state);
  try {
    const { clusters, generation } = await writeRows(await stoppedWithTables(object, state), snapshots);
    await object.server.start();
    await takesPushes(object, clusters[0]!);
    // workerd answers what changes something when all is on disk that was written before: minutes after the first start over a large world.
    const lease = { method: "POST", path: "/lease", body: JSON.stringify({ generation }) } as const;
    await ask(object, clusters[0]!, lease);
    return object;
  } catch (error) {
    await object.stop();
    throw error;
  }
}

/** Stops an object that is the only one in a folder of workerd, once it has made its tables. @returns the path of its database */
export async function stoppedWithTables({ url, server }: Answering, state: string): Promise<string> {
  await fetch(`${url}/api/v1/transfer/state`);
  await server.stop();
  const [file] = globSync(join(state, "**/*.sqlite")).filter((path) => basename(path) !== "metadata.sqlite");
  if (file === undefined) throw new Error("the object has no database yet");
  return file;
}

/**
 * Stores what every cluster pushed, as the object does, since clusters would push a large world for hours. The object does not run.
 * @returns the ids of the clusters, and the generation of each
 */
export async function writeRows(
  file: string,
  snapshots: Iterable<ClusterSnapshot>,
): Promise<{ readonly clusters: readonly string[]; readonly generation: number }> {
  const database = sqliteDouble(file);
  const store = createDurableObjectStore(database, {
    onWarning: ({ message }) => {
      throw new Error(message);
    },
  });
  const now = Date.now();
  const meta = { generation: now, pushedAt: now, renewedAt: now, expiresAt: now + DAY };
  const clusters: string[] = [];
  for (const snapshot of snapshots) {
    await store.keep(snapshot.clusterId, wholeOf(snapshot, meta));
    clusters.push(snapshot.clusterId);
  }
  database.close();
  return { clusters, generation: now };
}

/** Resolves when the object has compiled its snapshots, however long that takes. */
export async function takesPushes(object: Answering, clusterId: string): Promise<void> {
  await ask(object, clusterId, { method: "GET", path: "" });
}

async function ask(
  { url, client }: Answering,
  clusterId: string,
  {
    method,
    path,
    body: sent,
  }: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: string },
): Promise<void> {
  const headers = {
    authorization: `Bearer ${client.tokenFor(clusterId)}`,
    ...(sent !== undefined && { "content-type": "application/json" }),
  };
  const { statusCode, body } = await request(`${url}/api/v1/clusters/${clusterId}${path}`, {
    ...{ method, headers, headersTimeout: 0 },
    ...(sent !== undefined && { body: sent }),
  });
  if (statusCode !== 200) throw new Error(`the object: ${statusCode} ${await body.text()}`);
  await body.dump();
}
