import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkout } from "../harness/cli.ts";
import { gatewayFolder, infraManifests, workerFolder } from "../harness/infra.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../servers/kubernetes/objects.ts";
import { rendered } from "./install/helm.ts";

interface Container {
  securityContext: Record<string, unknown>;
  resources: { limits: Record<string, string> };
  volumeMounts: { readOnly?: boolean }[];
}
interface PodSpec {
  serviceAccountName: string;
  automountServiceAccountToken?: boolean;
  securityContext: Record<string, unknown>;
  containers: Container[];
  volumes: object[];
  hostNetwork?: boolean;
}
interface Pod extends KubeObject {
  spec: PodSpec & Record<string, unknown>;
}

const base = join(checkout, "infra/kubernetes");
const folders = ["gateway", "sync-worker"].flatMap((part) => [
  part,
  ...readdirSync(join(base, part, "components")).map((name) => join(part, "components", name)),
]);

/** What the controller of a Deployment or StatefulSet would create. */
function podOf(folder: string): Pod {
  const controlled = infraManifests(join(base, folder)).find(({ kind }) =>
    /^(?:Deployment|StatefulSet)$/.test(kind),
  )!;
  const { template, volumeClaimTemplates = [] } = controlled.spec as {
    template: { metadata: object; spec: Pod["spec"] };
    volumeClaimTemplates?: KubeObject[];
  };
  const { namespace } = controlled.metadata;
  const volumes = volumeClaimTemplates.map(({ metadata: { name } }) => ({
    name,
    persistentVolumeClaim: { claimName: `${name}-gateway-0` },
  }));
  return structuredClone({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...template.metadata, name: "worker", ...(namespace !== undefined && { namespace }) },
    spec: { ...template.spec, volumes: [...template.spec.volumes, ...volumes] },
  });
}

describe("Pod Security", () => {
  let server: ApiServer;

  beforeAll(async () => {
    server = await startApiServer({ crds: false });
    const manifests = [...infraManifests(workerFolder), ...infraManifests(gatewayFolder)];
    await server.admin.apply(...manifests.filter(({ kind }) => kind === "Namespace"));
  });

  afterAll(() => server?.stop());

  const admit = (pod: Pod) =>
    server.admin.api("POST", `/api/v1/namespaces/${pod.metadata.namespace}/pods?dryRun=All`, pod);

  test.each(folders)(
    "the pod of infra/kubernetes/%s is admitted where the standard restricted is enforced",
    async (folder) => {
      const pod = podOf(folder);
      const namespace = await server.admin.api("GET", `/api/v1/namespaces/${pod.metadata.namespace}`);
      expect(namespace.metadata.labels).toMatchObject({ "pod-security.kubernetes.io/enforce": "restricted" });
      // OpenShift's own admission sets the user there.
      const runAsUser = folder.endsWith("/openshift") ? undefined : 65532;
      const admitted = (await admit(pod)) as Pod;
      expect(admitted.kind).toBe("Pod");
      expect(admitted.spec.securityContext).toMatchObject({ runAsNonRoot: true });
      expect(admitted.spec.securityContext.runAsUser).toBe(runAsUser);
    },
  );

  test.each([
    ["gateway", {}],
    ["worker", { gateway: "https://doh.example.org", clusterId: "east" }],
  ] as const)(
    "the test pod of the chart of the %s is admitted, too, and has no token",
    async (chart, values) => {
      const pod = rendered(chart, values).find(({ kind }) => kind === "Pod") as Pod;
      expect((await admit(pod)) as Pod).toMatchObject({
        kind: "Pod",
        spec: { automountServiceAccountToken: false },
      });
      pod.spec.containers[0]!.securityContext.allowPrivilegeEscalation = true;
      await expect(admit(pod)).rejects.toMatchObject({ status: 403 });
    },
  );

  test.each(folders)(
    "infra/kubernetes/%s: at most the state can be written, everything is limited, the worker alone has a token",
    (folder) => {
      const { serviceAccountName, automountServiceAccountToken, containers, volumes } = podOf(folder).spec;
      const isWorker = folder.startsWith("sync-worker");
      expect(containers).toHaveLength(1);
      const [{ securityContext, resources, volumeMounts }] = containers as [Container];
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(Object.keys(resources.limits).sort()).toEqual(["cpu", "memory"]);
      expect(volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual(
        isWorker ? [] : [{ name: "state", mountPath: "/var/lib/clusterset-doh" }],
      );
      // A copy, which goes with its pod.
      if (folder.endsWith("/shared-store")) expect(volumes).toContainEqual({ name: "state", emptyDir: {} });
      // The worker reads the API server with it; whatever else uses the account gets none.
      expect(automountServiceAccountToken).toBe(isWorker);
      const access = infraManifests(join(base, folder)).filter(({ apiVersion, kind }) =>
        /rbac|ServiceAccount/.test(`${apiVersion} ${kind}`),
      );
      const accounts = access.filter(({ kind }) => kind === "ServiceAccount");
      expect(accounts.map(({ metadata: { name } }) => name)).toContain(serviceAccountName);
      for (const account of accounts) expect(account.automountServiceAccountToken).toBe(false);
      if (!isWorker) expect(access).toEqual(accounts);
    },
  );
});
