import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { textOf } from "../../../docs/pages.ts";
import { stepsOf } from "../../../docs/steps.ts";
import { emptySnapshot } from "../../../snapshot/worlds.ts";
import { answered, untilEqual, untilLive } from "../../harness/answers.ts";
import { checkout, runProgram } from "../../harness/cli.ts";
import { infraManifests, kubeconfigOfWorker, objectsIn } from "../../harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../../harness/processes.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { installGkeCrds } from "../../servers/kubernetes/crds.ts";
import { namespace, service, serviceExport, serviceSlice } from "../../servers/kubernetes/objects.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { goProgram } from "../../servers/tools/go-tools.ts";
import { waitFor } from "../../servers/wait.ts";
import { rendered } from "../install/helm.ts";

const CLUSTERS = ["east", "west"] as const;

interface Implementation {
  readonly name: "submariner" | "cilium" | "gke";
  /** Keys of the gateway's config file, as the page has them. */
  readonly config?: Record<string, unknown>;
}

const implementations: readonly Implementation[] = [
  { name: "submariner" },
  { name: "cilium", config: { outsideOrder: ["LoadBalancer", "Endpoint"] } },
  { name: "gke", config: { outsideOrder: ["LoadBalancer", "Endpoint"] } },
];

/** A row of the table of answers: a name, and the addresses or the error in each column. */
interface Row {
  readonly name: string;
  readonly columns: readonly (string | string[])[];
}

function documentedAnswers(page: string): readonly Row[] {
  const [, table] = /^\| A \|.*\n\|.*\n((?:\|.*\n)+)/m.exec(textOf(page))!;
  return table!
    .trim()
    .split("\n")
    .map((row) => {
      const [name, ...columns] = row.slice(2, -2).split(" | ");
      const values = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, value]) => value!);
      return {
        name: values(name!)[0]!,
        columns: columns.map((cell) => (cell.includes("`") ? values(cell).sort() : cell.trim())),
      };
    });
}

const servers = new Map<string, ApiServer>();
const objectsOf = (name: string, cluster: string) =>
  objectsIn(readFileSync(join(import.meta.dirname, name, cluster, "objects.yaml"), "utf8"));

beforeAll(async () => {
  for (const [cluster, server] of await Promise.all(
    CLUSTERS.map(async (cluster) => [cluster, await startApiServer({ name: cluster })] as const),
  ))
    servers.set(cluster, server);
});
afterAll(() => Promise.all([...servers.values()].map((server) => server.stop())));

describe.each(implementations)(
  "docs/how-to/deploy/implementations/$name.md, on two API servers",
  ({ name, config = {} }) => {
    const page = `docs/how-to/deploy/implementations/${name}.md`;
    const workers: SyncProcess[] = [];
    let exporting: GatewayProcess;
    let importing: GatewayProcess;

    beforeAll(async () => {
      [exporting, importing] = await Promise.all([
        startGateway({ clusters: [...CLUSTERS], config }),
        startGateway({ clusters: ["west"], speaksFor: { west: "*" }, config }),
      ]);
      for (const cluster of CLUSTERS) {
        const server = servers.get(cluster)!;
        // Only now: a worker without the component may not read what GKE's group has.
        if (name === "gke") await installGkeCrds(server.admin);
        await server.admin.apply(...objectsOf(name, cluster));
        const access = name === "gke" ? gkeAccess() : [];
        const kubeconfig = await kubeconfigOfWorker(server, (base) => [...base, ...access]);
        const gateways = cluster === "west" ? [exporting, importing] : [exporting];
        for (const gateway of gateways)
          workers.push(startSync({ clusterId: cluster, kubeconfig, gateways: [gateway] }));
      }
      await Promise.all([untilLive(exporting, 2), untilLive(importing, 1)]);
    });

    afterAll(async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([exporting?.stop(), importing?.stop()]);
      for (const [cluster, server] of servers)
        await server.admin.remove(...objectsOf(name, cluster).filter(({ kind }) => kind !== "Namespace"));
    });

    test.each(documentedAnswers(page))(
      "$name is answered as the page says",
      async ({ name: asked, columns }) => {
        const views = [
          answered(exporting, asked),
          answered(importing, asked),
          answered(exporting, asked, "A", { view: "east" }),
        ];
        expect((await Promise.all(views)).slice(0, columns.length)).toEqual(columns);
      },
    );

    test("no worker lacks a right, and nothing of the implementation is a finding", async () => {
      for (const worker of workers) expect(worker.log()).not.toContain("RBAC_FORBIDDEN");
      for (const gateway of [exporting, importing]) {
        const { findings } = await gateway.clusterStatus<{ findings: object[] }>("west");
        expect(findings).toEqual([]);
      }
    });

    test("the commands and files of the page render", async () => {
      const folder = temporaryFolder("implementation");
      symlinkSync(join(checkout, "infra"), join(folder, "infra"));
      for (const cluster of CLUSTERS) writeFileSync(join(folder, `${cluster}.token`), "x".repeat(43));
      const steps = stepsOf(page);
      expect(steps).not.toEqual([]);
      for (const step of steps) {
        if (step.kind === "file") {
          writeFileSync(join(folder, step.path), step.text);
          rendered("gateway", { "config.access.public": "true" }, [join(folder, step.path)]);
          continue;
        }
        const line = step.line
          .replace("helm upgrade --install", `${goProgram("helm")} template`)
          .replace("--create-namespace", "");
        const { code, stderr } = await runProgram("bash", ["-c", line], { cwd: folder });
        expect([code, stderr], line).toEqual([0, ""]);
      }
    });
  },
);

test("an export is answered in the clusters of its status, where the CRD has the field (kubernetes/enhancements#6329)", async () => {
  const { admin } = servers.get("east")!;
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/serviceexports.multicluster.x-k8s.io";
  const { spec } = await admin.api<{ spec: { versions: object[] } }>("GET", crd);
  const clusters = {
    type: "array",
    items: { type: "object", properties: { cluster: { type: "string" } } },
  };
  const patch = spec.versions.map((_, index) => ({
    op: "add",
    path: `/spec/versions/${index}/schema/openAPIV3Schema/properties/status/properties/clusters`,
    value: clusters,
  }));
  await admin.api("PATCH", crd, patch, "application/json-patch+json");
  await admin.apply(
    namespace("pay"),
    service("pay", "ledger", { ports: [{ port: 80 }] }),
    serviceSlice("pay", "ledger", { endpoints: [{ addresses: ["10.70.0.1"] }] }),
    serviceExport("pay", "ledger"),
  );
  const exportTo = (...names: string[]) =>
    waitFor("the field is in the status", async () => {
      const path = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/pay/serviceexports/ledger/status";
      const status = { clusters: names.map((cluster) => ({ cluster })) };
      const type = "application/merge-patch+json";
      const written = await admin.api<{ status?: typeof status }>("PATCH", path, { status }, type);
      return written.status?.clusters.length === names.length;
    });
  await exportTo("north");
  const gateway = await startGateway({ clusters: [...CLUSTERS] });
  const kubeconfig = await kubeconfigOfWorker(servers.get("east")!);
  const worker = startSync({ clusterId: "east", kubeconfig, gateways: [gateway] });
  onTestFinished(async () => {
    await worker.stop();
    await gateway.stop();
  });
  await gateway.push({ ...emptySnapshot("west"), namespaces: { pay: {} } });
  await untilLive(gateway, 2);
  const seenBy = (view: string) => answered(gateway, "ledger.pay", "A", { view });
  expect([await seenBy("west"), await seenBy("east")]).toEqual(["NXDOMAIN", ["10.70.0.1"]]);
  for (const names of [["west"], ["north"], []]) {
    await exportTo(...names);
    await untilEqual(`${names}`, () => seenBy("west"), names[0] === "north" ? "NXDOMAIN" : ["10.70.0.1"]);
  }
});

/** The rights of the component `gke`. */
function gkeAccess() {
  const component = join(checkout, "infra/kubernetes/sync-worker/components/gke");
  return infraManifests(component).filter(({ metadata }) => metadata.name.endsWith("-gke"));
}
