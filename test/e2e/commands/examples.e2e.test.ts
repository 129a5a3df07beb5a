import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordType } from "dns-packet";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { untilLive } from "../harness/answers.ts";
import { checkout, runCheck } from "../harness/cli.ts";
import { kubeconfigOfWorker } from "../harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../servers/kubernetes/objects.ts";
import { waitFor } from "../servers/wait.ts";

const clusters = ["cluster-a", "cluster-b"] as const;
const folderOf = (clusterId: string) => join(checkout, "examples", clusterId);

interface Checked {
  records: { name: string; type: RecordType; rdata: string }[];
}

function manifestsOf(clusterId: string): KubeObject[] {
  const files = readdirSync(folderOf(clusterId)).filter((name) => name.endsWith(".yaml"));
  return files
    .sort()
    .flatMap((name) => parseAllDocuments(readFileSync(join(folderOf(clusterId), name), "utf8")))
    .map((document) => document.toJS() as KubeObject);
}

/** Server-side apply refuses the proposed field `spec.name`; it is for manifests. */
function withoutProposedName(object: KubeObject): KubeObject {
  if (object.kind !== "Service") return object;
  const { name: _, ...spec } = object.spec as Record<string, unknown>;
  return { ...object, spec };
}

describe("examples/, applied to two API servers", () => {
  let servers: ApiServer[] = [];
  let gateway: GatewayProcess;
  const workers: SyncProcess[] = [];

  beforeAll(async () => {
    [gateway, ...servers] = await Promise.all([
      startGateway({ clusters: [...clusters] }),
      ...clusters.map((name) => startApiServer({ name })),
    ]);
    for (const [index, clusterId] of clusters.entries()) {
      const { admin } = servers[index]!;
      for (const { status, ...object } of manifestsOf(clusterId)) {
        const { creationTimestamp: _, ...metadata } = object.metadata;
        await admin.apply(withoutProposedName({ ...object, metadata } as KubeObject));
        if (status) await admin.patchStatus(object as KubeObject, status);
      }
      // The exports of the next cluster are younger; timestamps of the API have seconds.
      const appliedAt = Date.now();
      await waitFor("a later second", () => Date.now() > appliedAt + 1000);
    }
    for (const [index, clusterId] of clusters.entries()) {
      const kubeconfig = await kubeconfigOfWorker(servers[index]!);
      workers.push(startSync({ clusterId, kubeconfig, gateways: [gateway] }));
    }
    await untilLive(gateway, clusters.length);
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all([gateway?.stop(), ...servers.map((server) => server.stop())]);
  });

  test.each(["outside", ...clusters])(
    "seen from %s, DoH answers what `check` lists of the same manifests",
    async (seenFrom) => {
      const view = seenFrom === "outside" ? undefined : seenFrom;
      const viewed = view === undefined ? [] : ["--view", view];
      const { stdout } = await runCheck(["-o", "json", ...viewed, ...clusters.map(folderOf)]);
      const { records } = JSON.parse(stdout) as Checked;
      const expected = new Map<string, string[]>();
      for (const { name, type, rdata } of records) {
        if (type === "SOA" || type === "NS") continue;
        const key = `${name} ${type}`;
        expected.set(key, [...(expected.get(key) ?? []), rdata.replaceAll(/^"|"$|\.$/g, "")].sort());
      }
      expect(expected.size).toBeGreaterThan(20);
      const found = new Map<string, string[]>();
      for (const key of expected.keys()) {
        const [name, type] = key.split(" ") as [string, RecordType];
        found.set(
          key,
          (await gateway.lookup(name.replace(/\.$/, ""), type, view === undefined ? {} : { view })).values,
        );
      }
      expect(found).toEqual(expected);
    },
  );
});
