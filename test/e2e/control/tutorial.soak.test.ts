import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Step, stepsOf } from "../../docs/steps.ts";
import { cliPath } from "../harness/cli.ts";
import { startPod } from "../kubernetes/install/pod.ts";
import { type Reader, startReader } from "../kubernetes/install/reader.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { startControllerManager } from "../servers/kubernetes/controller-manager.ts";
import { startKwok } from "../servers/kubernetes/kwok.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { crdModules } from "../servers/tools/go-tools.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { waitFor } from "../servers/wait.ts";

const PAGE = "docs/tutorials/multicluster-services.md";
const MCS_API = "https://raw.githubusercontent.com/kubernetes-sigs/mcs-api";
/** The nodes of the clusters, with the addresses that the page has for them. */
const NODES = { east: "172.18.0.2", west: "172.18.0.3" };
const CLUSTERS = Object.keys(NODES) as (keyof typeof NODES)[];
/** What needs Docker, kind, or a kubelet that runs images. */
const NOT_RUN = /^(?:docker (?:build|rm)|kind|mkdir|kubectl .* run client) /;

describe(PAGE, () => {
  let reader: Reader;
  let folder: string;
  const servers = new Map<string, ApiServer>();
  const processes: ServerProcess[] = [];
  let replaced: [string, string][] = [];

  beforeAll(async () => {
    reader = await startReader();
    folder = join(reader.folder, "multicluster-services");
    mkdirSync(folder);
    const port = await freePort();
    replaced = [
      [`${MCS_API}/${crdModules["mcs-api"].version}/config/crd`, await ensureTool("mcsCrds")],
      ["--set gateway=https://gateway:8443", `--set gateway=https://localhost:${port}`],
      ['":8443"', `localhost:${port}`],
      ["docker cp gateway:", "cp "],
      ["/var/lib/clusterset-doh", join(reader.folder, "state")],
      ["/config/", `${folder}/`],
    ];
    await Promise.all(CLUSTERS.map(startCluster));
    reader.use(Object.fromEntries(Array.from(servers, ([name, server]) => [`kind-${name}`, server])));
  });

  afterAll(async () => {
    for (const process of processes.reverse()) await process.stop();
    await Promise.all([...servers.values()].map((server) => server.stop()));
  });

  /** As kind makes it, without a kubelet. */
  async function startCluster(name: keyof typeof NODES): Promise<void> {
    // etcd 3.4 has no progress notifications, without which kwok's watches end at once.
    const server = await startApiServer({ name, crds: false, args: ["--feature-gates=WatchList=false"] });
    servers.set(name, server);
    processes.push(await startControllerManager(server));
    const node = { name: `${name}-control-plane`, address: NODES[name], podCidrs: ["10.244.0.0/24"] };
    processes.push(await startKwok(server, { ...node, shell: reader.folder }));
  }

  const here = (text: string) => replaced.reduce((one, [from, to]) => one.replaceAll(from, to), text);

  async function run(line: string): Promise<{ code: number | null; printed: string }> {
    const { code, stdout, stderr } = await reader.run(here(line), undefined, folder);
    return { code, printed: stdout + stderr };
  }

  /** The container of the page as a process, with the arguments of `docker run`. */
  async function startGateway(line: string): Promise<void> {
    const args = here(line.split(" clusterset-doh:0.1.0 ")[1]!).split(" ");
    const gateway: ServerProcess = new ServerProcess({
      name: "gateway",
      command: process.execPath,
      args: [cliPath, ...args],
      folder: reader.folder,
      ready: async () => gateway.log().includes("listening"),
    });
    processes.push(gateway);
    await gateway.start();
  }

  /** The pods of the workers, from the objects that helm made. */
  async function startWorkers(): Promise<void> {
    for (const server of servers.values())
      processes.push(
        await startPod(server, "clusterset-doh", "deployments", "sync-worker", {
          replaced: { ":8080": `127.0.0.1:${await freePort()}` },
        }),
      );
  }

  async function carryOut({ line, expected }: Extract<Step, { kind: "run" }>): Promise<void> {
    if (line.startsWith("docker run ")) return startGateway(line);
    if (expected.length === 0) expect(await run(line)).toMatchObject({ code: 0 });
    else
      await waitFor(expected.join(" "), async () => {
        const { code, printed } = await run(line);
        expect(code, printed).toBe(0);
        for (const part of expected) expect(printed).toContain(part);
        return true;
      });
    if (line.includes("helm ")) await startWorkers();
  }

  for (const step of stepsOf(PAGE)) {
    if (step.kind === "file")
      test(`the file ${step.path}`, () => writeFileSync(join(folder, step.path), here(step.text)));
    else if (step.kind === "start") throw new Error(`${step.line} & is not expected here`);
    else if (!NOT_RUN.test(step.line))
      test(`${step.line} # ${step.expected.join(" ")}`, () => carryOut(step));
  }
});
