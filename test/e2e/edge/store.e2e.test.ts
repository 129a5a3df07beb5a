import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import type { SnapshotStore, StoredCluster } from "../../../src/store/store.ts";
import { describeStore } from "../../store/contract.ts";
import { freePort } from "../servers/ports.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { type DevProcess, startDev } from "./harness/dev-process.ts";
import { buildWorker } from "./wrangler.ts";

const configuration = fileURLToPath(new URL("store-worker/wrangler.toml", import.meta.url));

let worker: DevProcess;
let objects = 0;

beforeAll(async () => {
  const folder = temporaryFolder("store");
  worker = await startDev({
    script: await buildWorker(folder, configuration),
    configuration,
    name: "clusterset-doh-store",
    variables: "/dev/null",
    folder,
    registry: join(folder, "registry"),
    port: await freePort(),
    tokenFileFor: (clusterId) => {
      throw new Error(`${clusterId} has no token here`);
    },
  });
});

afterAll(() => worker?.stop());

/** The store of one object. */
function openStore(name: string): SnapshotStore {
  const post = async (action: string, body: string) => {
    const { status, text, json } = await worker.http(`/${name}/${action}`, { method: "POST", body });
    if (status !== 200) throw new Error(text);
    const { result, warnings } = json<{ result: unknown; warnings: string[] }>();
    if (warnings.length > 0) throw new Error(`damage was found: ${warnings}`);
    return result;
  };
  return {
    async *load() {
      yield* (await post("load", "")) as StoredCluster[];
    },
    keep: async (clusterId, change) => void (await post("keep", JSON.stringify({ clusterId, change }))),
    remove: async (clusterId) => void (await post("remove", clusterId)),
    close: async () => {},
  };
}

describeStore("Durable Object in workerd", async () => {
  const name = `object-${objects++}`;
  return {
    store: openStore(name),
    async reopen() {
      const { status, text } = await worker.http(`/${name}/crash`, { method: "POST" });
      if (status !== 503) throw new Error(`the object lives on: ${status} ${text}`);
      return openStore(name);
    },
  };
});
