import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cliPath, runProgram } from "../../harness/cli.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import { requestToken } from "../../servers/kubernetes/service-account.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { waitFor } from "../../servers/wait.ts";

interface Keyed {
  readonly data?: Record<string, string>;
}
interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: {
    readonly secretName: string;
    readonly optional?: boolean;
    readonly items?: readonly { readonly key: string }[];
  };
}
interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly volumes?: readonly Volume[];
  readonly containers: readonly [
    {
      readonly args: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly valueFrom: { readonly configMapKeyRef: { readonly name: string; readonly key: string } };
      }[];
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
    },
  ];
}

/** How a pod's process differs from the one that a kubelet would start. */
export interface PodOptions {
  /** In files and arguments: what stands in the manifests, and what is there instead. */
  readonly replaced?: Readonly<Record<string, string>>;
  readonly env?: Record<string, string>;
  /** Whether it serves; at once by default. */
  readonly ready?: () => Promise<boolean>;
}

/**
 * Starts the command of a pod as a process, as a kubelet would start it from the objects on the API server:
 * its arguments, environment, ConfigMaps and Secrets, and the token of its ServiceAccount. Folders that it
 * mounts are below a temporary folder.
 * @param kind of the owner in `apps/v1`: `deployments` or `statefulsets`
 */
export async function startPod(
  server: ApiServer,
  namespace: string,
  kind: string,
  name: string,
  options: PodOptions = {},
): Promise<ServerProcess> {
  const owner = await server.admin.api<{ spec: { template: { spec: PodSpec } } }>(
    "GET",
    `/apis/apps/v1/namespaces/${namespace}/${kind}/${name}`,
  );
  const command = await commandOf(server, namespace, name, owner.spec.template.spec, options);
  return ServerProcess.start({
    name,
    command: process.execPath,
    ...command,
    ready: options.ready ?? (async () => true),
  });
}

/**
 * Waits for a pod that helm has made, runs its command to the end, and reports to the API server how it
 * ended, as a kubelet would.
 * @returns what it printed
 */
export async function runToEnd(
  server: ApiServer,
  namespace: string,
  name: string,
  options: PodOptions = {},
): Promise<string> {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { namespace, name } };
  const { spec } = await waitFor(`the pod ${name}`, async () => {
    const found = await server.admin.get(pod);
    return (found.status as { phase: string }).phase === "Pending" && (found as unknown as { spec: PodSpec });
  });
  const { args, folder } = await commandOf(server, namespace, name, spec, options);
  const { code, stdout, stderr } = await runProgram(process.execPath, args, { cwd: folder });
  await server.admin.patchStatus(pod, { phase: code === 0 ? "Succeeded" : "Failed" });
  return stdout + stderr;
}

/** The command of a pod's container, in a folder with what it mounts. */
async function commandOf(
  server: ApiServer,
  namespace: string,
  name: string,
  spec: PodSpec,
  options: PodOptions,
): Promise<{ args: string[]; folder: string; env: Record<string, string> }> {
  const inNamespace = <T>(resource: string) =>
    server.admin.api<T>("GET", `/api/v1/namespaces/${namespace}/${resource}`);
  const { volumes = [], containers, serviceAccountName, automountServiceAccountToken } = spec;
  const [{ args, env = [], volumeMounts = [] }] = containers;
  const folder = temporaryFolder(`pod-${name}`);
  const replaced: [string, string][] = [
    ...volumeMounts.map(({ name: volume, mountPath }): [string, string] => [mountPath, join(folder, volume)]),
    ...Object.entries(options.replaced ?? {}),
  ];
  const here = (text: string) => replaced.reduce((one, [from, to]) => one.replaceAll(from, to), text);
  for (const { name: mounted } of volumeMounts) {
    mkdirSync(join(folder, mounted));
    const { configMap, secret } = volumes.find((volume) => volume.name === mounted) ?? {};
    const { data = {} } =
      configMap !== undefined
        ? await inNamespace<Keyed>(`configmaps/${configMap.name}`)
        : secret !== undefined
          ? await inNamespace<Keyed>(`secrets/${secret.secretName}`)
          : {};
    const { items } = secret ?? {};
    for (const [file, text] of Object.entries(data)) {
      if (items !== undefined && !items.some(({ key }) => key === file)) continue;
      const content = configMap === undefined ? Buffer.from(text, "base64") : here(text);
      writeFileSync(join(folder, mounted, file), content, { mode: 0o440 });
    }
  }
  const variables: Record<string, string> = {};
  for (const { name: variable, valueFrom } of env) {
    const { data = {} } = await inNamespace<Keyed>(`configmaps/${valueFrom.configMapKeyRef.name}`);
    const value = data[valueFrom.configMapKeyRef.key];
    if (value === undefined) throw new Error(`${valueFrom.configMapKeyRef.name} has no ${variable}`);
    variables[variable] = here(value);
  }
  const account = automountServiceAccountToken
    ? { KUBECONFIG: server.kubeconfig(await requestToken(server.admin, namespace, serviceAccountName)) }
    : {};
  const expanded = args.map((arg) =>
    here(arg.replaceAll(/\$\((\w+)\)/g, (_, variable) => variables[variable]!)),
  );
  return { args: [cliPath, ...expanded], folder, env: { ...account, ...variables, ...options.env } };
}
