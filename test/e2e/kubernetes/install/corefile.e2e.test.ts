import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { blocksIn } from "../../../docs/pages.ts";
import { stepsIn } from "../../../docs/steps.ts";
import { startListeningGateway } from "../../clients/listening-gateway.ts";
import { world } from "../../commands/exported.ts";
import { checkout } from "../../harness/cli.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { kustomized } from "../../harness/infra.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { queryUdp } from "../../servers/dns.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { type Reader, startReader } from "./reader.ts";

const PAGE = "docs/how-to/deploy/kubernetes.md";
const patches = join(checkout, "infra/kubernetes/coredns");

const metadata = { name: "coredns", namespace: "kube-system" };
const labels = { "k8s-app": "kube-dns" };
const volume = "config-volume";
/** The objects of a cluster's CoreDNS, as far as the patches touch them. */
const own: KubeObject[] = [
  { apiVersion: "v1", kind: "ConfigMap", metadata, data: { Corefile: ". {\n}\n" } },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "coredns",
              image: "coredns:1.15.0",
              volumeMounts: [{ name: volume, mountPath: "/etc/coredns" }],
            },
          ],
          volumes: [{ name: volume, configMap: { name: "coredns" } }],
        },
      },
    },
  },
];

interface Deployment {
  spec: {
    template: {
      spec: {
        containers: { volumeMounts: { name: string; mountPath: string }[] }[];
        volumes: { name: string; configMap: { name: string } }[];
      };
    };
  };
}

let reader: Reader;
let folder: string;
let server: ApiServer;
let gateway: GatewayProcess;
let coredns: ServerProcess | undefined;

beforeAll(async () => {
  reader = await startReader();
  folder = reader.folder;
  const listening = await startListeningGateway({ publicUrl: "https://doh.example.org" });
  gateway = listening.gateway;
  server = await startApiServer();
  await server.admin.apply(...own, ...world("pods", { local: { endpoints: ["10.1.0.1"] } }));
});

afterAll(async () => {
  await coredns?.stop();
  await Promise.all([gateway?.stop(), server?.stop()]);
});

const run = (command: string) => reader.expectRun(command, { east: server });

/** Replaces a text that has to be there. */
function put(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`no ${from} in:\n${text}`);
  return text.replaceAll(from, to);
}

test("the page shows the first block of the patch", () => {
  const { data } = parse(readFileSync(join(patches, "corefile.yaml"), "utf8")) as {
    data: { Corefile: string };
  };
  const [block] = blocksIn(PAGE, "corefile");
  expect(data.Corefile.replace(/^ *#.*\n/gm, "").startsWith(block!)).toBe(true);
});

test("the component makes of a cluster's objects what the patches make of them", async () => {
  const base = temporaryFolder("coredns-base");
  const names = own.map(({ kind }) => `${kind}.json`);
  for (const [index, object] of own.entries())
    writeFileSync(join(base, names[index]!), JSON.stringify(object));
  writeFileSync(join(base, "kustomization.yaml"), JSON.stringify({ resources: names }));
  const [config, deployment] = kustomized(base, [patches]) as unknown as [{ data: unknown }, Deployment];
  expect(config.data).toEqual(parse(readFileSync(join(patches, "corefile.yaml"), "utf8")).data);
  const { containers, volumes } = deployment.spec.template.spec;
  expect(containers[0]!.volumeMounts.map(({ name }) => name).sort()).toEqual([
    "clusterset-doh-ca",
    "config-volume",
  ]);
  expect(volumes).toHaveLength(2);
});

test("CoreDNS with the patched Corefile answers names of the clusterset from the gateway, and the cluster's own", async () => {
  const program = await ensureTool("coredns");
  // What the reader does: the certificate, a copy with the gateway's address, the commands.
  writeFileSync(join(folder, "ca.crt"), gateway.ca);
  const at = `https://127.0.0.1:${new URL(gateway.url).port}`;
  const copy = put(readFileSync(join(patches, "corefile.yaml"), "utf8"), "https://192.0.2.53", at);
  writeFileSync(join(folder, "corefile.yaml"), copy);
  const commands = blocksIn(PAGE, "sh")
    .flatMap(stepsIn)
    .filter((step) => "line" in step && step.line.includes("kube-system"));
  expect(commands).toHaveLength(3);
  for (const step of commands) await run("line" in step ? step.line : "");

  // What the kubelet does.
  const read = <T>(path: string) => server.admin.api<T>("GET", path);
  const configMap = (name: string) =>
    read<{ data: Record<string, string> }>(`/api/v1/namespaces/kube-system/configmaps/${name}`);
  const { spec } = await read<Deployment>("/apis/apps/v1/namespaces/kube-system/deployments/coredns");
  const { containers, volumes } = spec.template.spec;
  let corefile = (await configMap("coredns")).data.Corefile!;
  for (const { name, mountPath } of containers[0]!.volumeMounts) {
    mkdirSync(join(folder, name));
    const { data } = await configMap(volumes.find((volume) => volume.name === name)!.configMap.name);
    for (const [file, text] of Object.entries(data)) writeFileSync(join(folder, name, file), text);
    if (corefile.includes(mountPath)) corefile = put(corefile, mountPath, join(folder, name));
  }
  // Ports of its own, and a kubeconfig, since this is no pod.
  const dns = await freePort();
  const listen = async () => `127.0.0.1:${await freePort()}`;
  for (const [from, to] of [
    [":53 {", `:${dns} {\n    bind 127.0.0.1`],
    ["health {", `health ${await listen()} {`],
    ["    ready\n", `    ready ${await listen()}\n`],
    ["prometheus :9153", `prometheus ${await listen()}`],
    ["pods insecure\n", `pods insecure\n        kubeconfig ${server.kubeconfig()}\n`],
  ] as const)
    corefile = put(corefile, from, to);
  const file = join(folder, "Corefile");
  writeFileSync(file, corefile);
  const lookup = async (name: string) => shorten(await queryUdp(dns, { name, type: "A" }));
  const local = "local.pods.svc.cluster.local";
  coredns = await ServerProcess.start({
    name: "coredns",
    command: program,
    args: ["-conf", file],
    folder,
    ready: async () => (await lookup(local)).rcode === "NOERROR",
  });
  expect(await lookup("web.shop.svc.clusterset.local")).toMatchObject({
    rcode: "NOERROR",
    values: ["10.96.1.10", "10.96.2.10"],
  });
  expect((await lookup("nothing.shop.svc.clusterset.local")).rcode).toBe("NXDOMAIN");
  expect((await lookup(local)).values).toEqual([expect.stringMatching(/^10\.96\./)]);
});

test("docs/how-to/uninstall.md gives CoreDNS its objects back", async () => {
  const copy = readFileSync(join(folder, "corefile.yaml"), "utf8");
  writeFileSync(join(folder, "corefile.yaml"), copy.replace(/ {4}clusterset\.local:53 \{.*?^ {4}\}\n/ms, ""));
  const [block] = blocksIn("docs/how-to/uninstall.md", "sh");
  await run(block!);
  const [config, deployment] = await Promise.all(own.map((object) => server.admin.get(object)));
  expect(JSON.stringify(config!.data)).not.toContain("clusterset");
  expect(JSON.stringify(deployment!.spec)).not.toContain("clusterset");
  expect(deployment!.spec).toMatchObject(own[1]!.spec as object);
  const ca = { ...own[0]!, metadata: { ...metadata, name: "clusterset-doh-ca" } };
  await expect(server.admin.get(ca)).rejects.toMatchObject({ status: 404 });
});
