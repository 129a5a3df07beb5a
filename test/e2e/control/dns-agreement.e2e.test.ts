import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { exported, world } from "../commands/exported.ts";
import { ask, viewListeners } from "../coredns/comparison/ask.ts";
import { Evidence } from "../coredns/comparison/comparison.ts";
import { inParallel } from "../coredns/comparison/in-parallel.ts";
import { judge } from "../coredns/comparison/judge.ts";
import { differences } from "../coredns/differences/index.ts";
import type { Fixture } from "../coredns/fixture.ts";
import { placesIn } from "../coredns/place.ts";
import { questionsFor } from "../coredns/questions.ts";
import type { ImportedService, ImportedSlice, ImportSpec } from "../coredns/worlds/services.ts";
import { eventually } from "../harness/answers.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import { type CoreDns, kubernetesPlugin, startCoreDns } from "../servers/coredns.ts";
import type { ApiClient } from "../servers/kubernetes/api-client.ts";
import {
  importedSlice,
  type KubeObject,
  multiclusterServiceLabel,
  namespace,
  serviceExport,
  serviceImport,
  sourceClusterLabel,
} from "../servers/kubernetes/objects.ts";
import { expectOnlyOwnAndNeededWrites } from "./audited.ts";
import { eventualEndpoints, lookAt } from "./objects.ts";

const SERVICES = 60;
const NAMESPACE = "shop";
const THEIRS = { name: "theirs", ip: "10.200.0.9" };

let clusters: SyncedClusters<"a" | "b">;
let coredns: CoreDns;
/** Where the gateway answers as b's clients are answered. */
let viewPort: number;

/**
 * Services of cluster a: with cluster IPs and headless, one port or two, endpoints of one family or both,
 * with host names or without.
 */
const arbitrary = fc.record({
  headless: fc.boolean(),
  families: fc.constantFrom(["IPv4"], ["IPv6"], ["IPv4", "IPv6"]),
  ports: fc.uniqueArray(fc.constantFrom("http 80", "grpc 9000", "dns 53"), { minLength: 1, maxLength: 2 }),
  endpoints: fc.uniqueArray(
    fc.record({ host: fc.integer({ min: 1, max: 200 }), named: fc.boolean(), ready: fc.boolean() }),
    { maxLength: 4, selector: ({ host }) => host },
  ),
});

function objectsOf(service: ReturnType<typeof arbitrary.generate>["value"], index: number): KubeObject[] {
  const { headless, families, ports, endpoints } = service;
  const numbered = ports.map((port) => ({
    name: port.split(" ")[0]!,
    port: Number(port.split(" ")[1]),
    protocol: "TCP",
  }));
  const ipFamilyPolicy = families.length === 2 ? "RequireDualStack" : "SingleStack";
  const [own, ...rest] = exported(NAMESPACE, `service-${index}`, {
    headless,
    spec: { ports: numbered, ipFamilies: families, ipFamilyPolicy },
    endpoints: families.flatMap((family) =>
      endpoints.map(({ host, named, ready }) => ({
        address:
          family === "IPv4" ? `10.1.${index}.${host}` : `fd00:1::${index.toString(16)}:${host.toString(16)}`,
        ...(named && { hostname: `pod-${host}` }),
        ready,
      })),
    ),
  });
  return [
    own!,
    ...rest.map((object) => (object.kind === "EndpointSlice" ? { ...object, ports: numbered } : object)),
  ];
}

/** What cluster b's API server holds of the clusterset, as the comparison with CoreDNS takes it. */
async function readFixture(admin: ApiClient): Promise<Fixture> {
  const listed = async (path: string) => (await admin.api<{ items: ManagedObject[] }>("GET", path)).items;
  const imports = await listed("/apis/multicluster.x-k8s.io/v1beta1/serviceimports");
  const slices = await listed("/apis/discovery.k8s.io/v1/endpointslices");
  const services = imports.map(({ metadata, spec }): ImportedService => {
    const own = slices.filter(
      (slice) =>
        slice.metadata.namespace === metadata.namespace &&
        slice.metadata.labels?.[multiclusterServiceLabel] === metadata.name,
    );
    return {
      namespace: metadata.namespace,
      name: metadata.name,
      spec: spec as ImportSpec,
      slices: own.map(({ metadata: { labels }, addressType, ports, endpoints }) => ({
        ...({ addressType, ports: ports ?? [], endpoints: endpoints ?? [] } as Pick<
          ImportedSlice,
          "addressType" | "ports" | "endpoints"
        >),
        source: labels![sourceClusterLabel],
        labels: {},
      })),
    };
  });
  return {
    services,
    namespaces: [...new Set([...services.map((one) => one.namespace), "bare"])],
    others: [],
  };
}

beforeAll(async () => {
  const { ports, config } = await viewListeners(["b"]);
  viewPort = ports.get("b")!;
  clusters = await startSyncedClusters(
    ["a", "b"],
    async ({ a, b }) => {
      await Promise.all([a, b].map(({ admin }) => admin.apply(namespace(NAMESPACE), namespace("bare"))));
      const services = fc.sample(arbitrary, { numRuns: SERVICES, seed: 20_301_123 });
      await inParallel(services.map(objectsOf), (objects) => a.admin.apply(...objects));
      // Import mode beside it: another implementation imports from a cluster that pushes nowhere.
      await b.admin.apply(
        serviceImport(NAMESPACE, THEIRS.name, {
          type: "ClusterSetIP",
          ips: [THEIRS.ip],
          ports: [{ name: "http", port: 80, protocol: "TCP" }],
        }),
        importedSlice(NAMESPACE, THEIRS.name, "elsewhere", {
          ports: [{ name: "http", port: 80, protocol: "TCP" }],
          endpoints: [{ addresses: ["10.9.0.1"] }],
        }),
      );
    },
    { control: true, gateway: { speaksFor: { b: "*" }, config } },
  );
  coredns = await startCoreDns([kubernetesPlugin({ kubeconfig: clusters.servers.b.kubeconfig() })]);
});

afterAll(async () => {
  await coredns?.stop();
  await clusters?.stop();
});

test("CoreDNS in cluster b answers services of cluster a from the control plane's objects, as the gateway answers b's clients", async () => {
  const { b } = clusters.servers;
  const settled = async () => {
    const { services } = await readFixture(b.admin);
    return services.filter(
      ({ spec }) => (spec as ImportSpec).type === "Headless" || (spec as ImportSpec).ips?.length,
    ).length;
  };
  await eventually(settled).toBe(SERVICES + 1);
  const view = { view: "b" };
  // Each gateway and CoreDNS learn of the last object on their own.
  const marker = world("marked", { last: { endpoints: ["10.1.250.1"] } });
  await b.admin.apply(namespace("marked"));
  await clusters.servers.a.admin.apply(...marker);
  await eventually(async () => {
    const { ips } = (await lookAt(b, "marked").spec("last")) as { ips: string[] };
    const { values } = await clusters.gateway.lookup("last.marked.svc.clusterset.local", "A", view);
    return values.length > 0 && values[0] === ips[0];
  }).toBe(true);
  const fixture = await readFixture(b.admin);
  // Reverse names are left out: CoreDNS has those of derived Services in the cluster's own zone.
  const questions = questionsFor(fixture).filter(
    ({ name, type }) => ["A", "AAAA", "SRV", "TXT"].includes(type) && !name.toLowerCase().endsWith(".arpa"),
  );
  await eventually(async () => {
    const theirs = await ask(coredns.port, questions);
    const ours = await ask(viewPort, questions);
    const { problems, same, compared } = judge(
      new Evidence(questions, theirs, ours, placesIn(fixture)),
      differences,
    );
    return {
      problems: problems.slice(0, 10).map(({ text }) => text),
      isMostlySame: same > compared / 2,
      compared,
    };
  }).toEqual({ problems: [], isMostlySame: true, compared: questions.length });
  expect(questions.length).toBeGreaterThan(3000);
});

test("the worker of cluster b exports nothing of what it made, and still reports what another implementation imports", async () => {
  const { values } = await clusters.gateway.lookup(`${THEIRS.name}.${NAMESPACE}.svc.clusterset.local`, "A", {
    view: "b",
  });
  expect(values).toEqual([THEIRS.ip]);
  expect(await clusters.gateway.clusterStatus("b")).toMatchObject({ exports: 0 });
  const { a, b } = clusters.servers;
  const theirs = await b.admin.get(serviceImport(NAMESPACE, THEIRS.name, {}));
  expect(theirs.metadata.labels ?? {}).toEqual({});
  expect(await lookAt(a, NAMESPACE).import(THEIRS.name)).toBeUndefined();
  expect(b.writes().length).toBeGreaterThan(SERVICES);
  for (const server of [a, b]) expectOnlyOwnAndNeededWrites(server);
});

test("an export of a derived Service exports no endpoints of other clusters", async () => {
  const { a, b } = clusters.servers;
  await a.admin.apply(...exported(NAMESPACE, "looped", { endpoints: ["10.1.251.1"] }));
  await eventualEndpoints(lookAt(b, NAMESPACE), "looped").toEqual(["a 10.1.251.1"]);
  await b.admin.apply(serviceExport(NAMESPACE, "clusterset-looped"));
  await eventually(() => lookAt(b, NAMESPACE).conditions("clusterset-looped")).not.toEqual([]);
  await a.admin.apply(...exported(NAMESPACE, "after", { endpoints: ["10.1.251.2"] }));
  await eventualEndpoints(lookAt(b, NAMESPACE), "after").toEqual(["a 10.1.251.2"]);
  expect(await lookAt(a, NAMESPACE).endpoints("clusterset-looped")).toEqual([]);
  expect(await lookAt(b, NAMESPACE).endpoints("clusterset-looped")).toEqual([]);
});
