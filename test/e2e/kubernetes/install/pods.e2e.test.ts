import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksIn } from "../../../docs/pages.ts";
import { stepsIn, stepsOf } from "../../../docs/steps.ts";
import { world } from "../../commands/exported.ts";
import { eventualAnswer, eventually } from "../../harness/answers.ts";
import { cliPath, runProgram } from "../../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { infraManifests } from "../../harness/infra.ts";
import { certificateFor } from "../../servers/certificate.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { freePort } from "../../servers/ports.ts";
import type { ServerProcess } from "../../servers/process.ts";
import { crdModules } from "../../servers/tools/go-tools.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { runToEnd, startPod } from "./pod.ts";
import { type Reader, startReader } from "./reader.ts";

const PAGE = "docs/how-to/deploy/kubernetes.md";
/** Where the page takes the CRDs from; the tests have them from the Go module of the same version. */
const MCS_API = "https://raw.githubusercontent.com/kubernetes-sigs/mcs-api";
const HELM = "## With Helm";
const KUSTOMIZE = "## With kustomize";
const GATEWAY_NAMESPACE = "clusterset-doh-gateway";
const WORKER_NAMESPACE = "clusterset-doh";

describe(`${PAGE}: the commands of a reader, then those of the pods`, () => {
  const running: ServerProcess[] = [];
  let reader: Reader;
  let folder: string;
  let port: number;
  let mcsCrds: string;
  let east: ApiServer;
  let west: ApiServer;
  let certificate: Awaited<ReturnType<typeof certificateFor>>;
  let gateway: GatewayClient;
  /** Where the worker's probes are. */
  let workerAddress = "";

  beforeAll(async () => {
    mcsCrds = await ensureTool("mcsCrds");
    reader = await startReader();
    folder = reader.folder;
    [east, west, port, certificate] = await Promise.all([
      startApiServer({ name: "east" }),
      startApiServer({ name: "west" }),
      freePort(),
      certificateFor(folder),
    ]);
    // No cluster has a ClusterProperty: its id is what the reader sets.
    await east.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.1"] } }));
    await west.admin.apply(...world("shop", { web: { endpoints: ["10.2.0.1"] } }));
    gateway = gatewayClient(
      `https://localhost:${port}`,
      () => certificate.cert,
      (clusterId) => join(folder, `${clusterId}.token`),
    );
  });

  afterAll(async () => {
    await Promise.all(running.map((process) => process.stop()));
    await Promise.all([east?.stop(), west?.stop()]);
  });

  /** Runs a line of the page, and returns what it prints; the gateway listens on a port of its own here. */
  function run(line: string, central: ApiServer, expected = 0): Promise<string> {
    const text = line
      .replaceAll(/([= ])https:\/\/doh\.example\.org/g, `$1https://localhost:${port}`)
      .replaceAll(`${MCS_API}/${crdModules["mcs-api"].version}/config/crd`, mcsCrds);
    return reader.expectRun(text, { central, east, west }, expected);
  }

  /**
   * Runs `helm test`, and the pod that it makes, whose Service leads to this machine.
   * @returns what the pod prints
   */
  async function helmTest(line: string, server: ApiServer, expected = 0): Promise<string> {
    const [, release, namespace] = /^helm test (\S+) .*--namespace (\S+)$/.exec(line)!;
    const replaced = {
      [`https://gateway.${GATEWAY_NAMESPACE}.svc:443`]: gateway.url,
      "--server-name=doh.example.org": "--server-name=localhost",
      [`sync-worker-test.${WORKER_NAMESPACE}.svc:8080`]: workerAddress,
    };
    const pod = runToEnd(server, namespace!, `${release}-test`, { replaced });
    const [printed] = await Promise.all([pod, run(line, server, expected)]);
    return printed;
  }

  /** Carries out the steps between two headings. @returns what each command prints */
  async function carryOut(from: string | undefined, until: string, central: ApiServer): Promise<string[]> {
    const printed: string[] = [];
    const before = from === undefined ? 0 : stepsOf(PAGE, from).length;
    const steps = stepsOf(PAGE, until).slice(before);
    for (const step of steps) {
      if (step.kind !== "file")
        printed.push(await (step.line.startsWith("helm test ") ? helmTest : run)(step.line, central));
      else {
        mkdirSync(dirname(join(folder, step.path)), { recursive: true });
        const text = step.text.replaceAll(
          "gateway=https://doh.example.org",
          `gateway=https://localhost:${port}`,
        );
        writeFileSync(join(folder, step.path), text);
      }
    }
    return printed;
  }

  const gatewayPod = async (server: ApiServer, client: GatewayClient) => {
    const pod = await startPod(server, GATEWAY_NAMESPACE, "statefulsets", "gateway", {
      replaced: { ":8443": client.url.replace("https://localhost", "127.0.0.1") },
      ready: async () => (await client.http("/healthz")).status === 200,
    });
    running.push(pod);
  };
  const workerPod = async (server: ApiServer, replaced: Record<string, string> = {}) => {
    const env = { NODE_EXTRA_CA_CERTS: certificate.certPath };
    const at = `127.0.0.1:${await freePort()}`;
    workerAddress = at;
    const pod = await startPod(server, WORKER_NAMESPACE, "deployments", "sync-worker", {
      replaced: { ":8080": at, ...replaced },
      env,
    });
    running.push(pod);
    // As the probes of the Deployment read them.
    const statusOf = async (path: string) => (await fetch(`http://${at}${path}`)).status;
    return Object.assign(pod, { statusOf });
  };

  test("by Helm: the gateway's pod answers for the cluster whose worker pushes", async () => {
    expect((await carryOut(undefined, HELM, east)).length).toBeGreaterThan(2);
    const notes = (await carryOut(HELM, KUSTOMIZE, east)).join("");
    await gatewayPod(east, gateway);
    await eventually(async () => (await gateway.http("/readyz")).text).toContain("no cluster has pushed");
    // The command that the notes name, which the page has later.
    const [command] = /helm test gateway --namespace .*/.exec(notes)!;
    expect(await helmTest(command.replace(" --", " --kube-context central --"), east, 1)).toContain(
      "no cluster has pushed a snapshot yet",
    );
    const worker = await workerPod(east);
    await eventually(() => worker.statusOf("/readyz")).toBe(200);
    expect(await Promise.all(["/healthz", "/metrics"].map(worker.statusOf))).toEqual([200, 200]);
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);
    await eventually(async () => (await gateway.http("/readyz")).text).toContain("1 of 2 clusters live");
    expect(await carryOut("## First answer", "## Reach it", east)).toEqual([
      "ready: 1 of 1 gateway answers for this cluster\n",
      "ready: 1 of 2 clusters live; west never seen\n",
      expect.stringContaining("10.1.0.1"),
    ]);
  });

  test("by kustomize: another cluster's worker pushes to the same gateway, and a gateway has the same tokens", async () => {
    await carryOut(KUSTOMIZE, "## First answer", west);
    const pod = await workerPod(west);
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1", "10.2.0.1"]);
    // Logged when the acknowledgement is there, shortly after the gateway answers.
    await eventually(() => pod.log()).toContain("snapshot acknowledged");
    expect(pod.log()).not.toMatch(/"level":"(?:warn|error)"/);

    // Its Secret gateway-tls is the reader's first step in this cluster.
    const [create] = stepsOf(PAGE, HELM).flatMap((step) =>
      step.kind === "run" && step.line.includes("secret tls") ? [step.line] : [],
    );
    await run(create!, west);
    const url = `https://localhost:${await freePort()}`;
    const other = gatewayClient(url, () => certificate.cert, gateway.tokenFileFor);
    await gatewayPod(west, other);
    // The tokens are known: the clusters have not pushed yet.
    for (const clusterId of ["east", "west"])
      await expect(other.clusterStatus(clusterId)).rejects.toThrow(`status of ${clusterId}: 404`);
  });

  test("without the cluster id the gateway rejects the worker, and with an empty one the worker says what to set", async () => {
    const unnamed = await workerPod(west, { "--cluster-id=west": "--lease=60" });
    await eventually(() => unnamed.log()).toContain("OTHER_CLUSTER");
    expect(await Promise.all(["/healthz", "/readyz"].map(unnamed.statusOf))).toEqual([200, 503]);
    await unnamed.stop();
    const [deployment] = infraManifests().filter(({ kind }) => kind === "Deployment");
    const [container] = (deployment!.spec as { template: { spec: { containers: { args: string[] }[] } } })
      .template.spec.containers;
    const args = container!.args.map((arg) =>
      arg.replace("$(GATEWAY)", gateway.url).replace("$(CLUSTER_ID)", ""),
    );
    expect(await runProgram(process.execPath, [cliPath, ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--cluster-id is empty"),
    });
  });

  test("the commands of README.md, and of the charts' own, render", async () => {
    const pages = ["README.md", "infra/helm/gateway/README.md", "infra/helm/sync-worker/README.md"];
    const steps = pages.flatMap((page) => blocksIn(page, "sh")).flatMap(stepsIn);
    const lines = steps.flatMap((step) =>
      step.kind === "run" && step.line.startsWith("helm ") ? [step.line] : [],
    );
    expect(lines).toHaveLength(4);
    await run("clusterset-doh token > cluster-a.token", east);
    for (const line of lines)
      await run(
        line
          .replace("upgrade --install", "template")
          .replace("--create-namespace", "")
          // The charts are there when a release has pushed them.
          .replace("oci://ghcr.io/clusterset-doh/clusterset-doh/charts/clusterset-doh-", "infra/helm/"),
        east,
      );
  });
});
