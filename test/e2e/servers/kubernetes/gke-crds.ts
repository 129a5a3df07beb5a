import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { ensureTool } from "../tools/tools.ts";
import { waitFor } from "../wait.ts";
import type { ApiClient } from "./api-client.ts";
import { filesIn } from "./crds.ts";
import type { KubeObject } from "./objects.ts";

interface CustomResourceDefinition extends KubeObject {
  spec: { group: string; names: { plural: string }; versions: { name: string; storage: boolean }[] };
}

/**
 * Installs the MCS API under GKE's group `net.gke.io/v1`, with the schemas of the MCS API: GKE publishes none
 * of its own.
 */
export async function installGkeCrds(admin: ApiClient): Promise<void> {
  for (const path of filesIn(await ensureTool("mcsCrds"))) {
    const crd = parse(await readFile(path, "utf8")) as CustomResourceDefinition;
    const { plural } = crd.spec.names;
    const stored = crd.spec.versions.find(({ storage }) => storage);
    await admin.apply({
      ...crd,
      metadata: { name: `${plural}.net.gke.io` },
      spec: { ...crd.spec, group: "net.gke.io", versions: [{ ...stored, name: "v1", served: true }] },
    } as KubeObject);
    await waitFor(`${plural}.net.gke.io served`, async () => {
      await admin.api("GET", `/apis/net.gke.io/v1/${plural}?limit=1`);
      return true;
    });
  }
}
