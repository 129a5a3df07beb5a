import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { readServeConfig } from "../../../../src/hosts/node/config.ts";
import { DEADLINE } from "../../../deadline.ts";
import { blocksIn } from "../../../docs/pages.ts";
import { runProgram } from "../../harness/cli.ts";
import { gatewayFolder, kustomized, workerFolder } from "../../harness/infra.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { operatorCrds } from "../../servers/kubernetes/crds.ts";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { comparable, reactions } from "./comparable.ts";
import { charts, helm, rendered } from "./helm.ts";

const HOST = "doh.example.org";
/** The values of the chart that a component stands for. */
const gatewayComponents: Record<string, Record<string, string>> = {
  "cert-manager": { "certificate.issuer.name": "letsencrypt" },
  dns: { "config.dns.listen[0]": ":5353", "config.dot.listen[0]": ":8853" },
  "http-route": { "httpRoute.enabled": "true" },
  ingress: { "ingress.enabled": "true" },
  monitoring: { "serviceMonitor.enabled": "true", "prometheusRule.enabled": "true" },
  "shared-store": { "store.url": "rediss://valkey.example.org:6379" },
  "tls-route": { "tlsRoute.enabled": "true" },
};
const workerComponents: Record<string, Record<string, string>> = {
  "ca-file": { ca: "PEM" },
  "cluster-local": { "clusterLocal.enabled": "true" },
  gke: { "gke.enabled": "true" },
  monitoring: { "podMonitor.enabled": "true" },
  "service-account-token": { "serviceAccountToken.enabled": "true" },
  // The last one: it adds to what other components have.
  control: { "control.enabled": "true" },
};
const worker = { gateway: `https://${HOST}`, clusterId: "east" };

/** The sets of these names that have at most two of them, or all but at most one; the empty one first. */
function combinations(names: readonly string[]): string[][] {
  const sets: string[][] = [[]];
  for (const name of names) sets.push(...sets.map((set) => [...set, name]));
  return sets.filter(({ length }) => length <= 2 || length >= names.length - 1);
}

function valuesOf(components: Record<string, Record<string, string>>, chosen: readonly string[]) {
  return Object.assign({}, ...chosen.map((name) => components[name]));
}

function overlay(
  base: string,
  chosen: readonly string[],
  part: string,
  generators: object[],
  files: Record<string, string> = {},
): KubeObject[] {
  const labels = {
    "app.kubernetes.io/name": "clusterset-doh",
    "app.kubernetes.io/component": part,
    "app.kubernetes.io/instance": part,
  };
  const components = chosen.map((name) => join(base, "components", name));
  const more = { configMapGenerator: generators, generatorOptions: { labels } };
  return kustomized(base, components, more, files);
}

/** The gateway with components, for the host. */
function gatewayOverlay(chosen: readonly string[]): KubeObject[] {
  const folder = chosen.includes("shared-store")
    ? join(gatewayFolder, "components/shared-store")
    : gatewayFolder;
  const dns = chosen.includes("dns") ? 'dns: { listen: [":5353"] }\ndot: { listen: [":8853"] }\n' : "";
  const config = `${readFileSync(join(folder, "gateway.yaml"), "utf8")}publicUrl: https://${HOST}\n${dns}`;
  const { namespace } = charts.gateway;
  const generator = { name: "gateway", namespace, behavior: "replace", files: ["gateway.yaml"] };
  return overlay(gatewayFolder, chosen, "gateway", [generator], { "gateway.yaml": config });
}

/** The worker with components, for a cluster. */
function workerOverlay(chosen: readonly string[], { gateway, clusterId } = worker): KubeObject[] {
  const { namespace } = charts.worker;
  const literals = [`gateway=${gateway}`, `clusterId=${clusterId}`];
  const settings = { name: "sync-worker", namespace, behavior: "merge", literals };
  const ca = { name: "sync-worker-ca", namespace, files: ["ca.crt"] };
  const generators = chosen.includes("ca-file") ? [settings, ca] : [settings];
  return overlay(workerFolder, chosen, "sync-worker", generators, { "ca.crt": "PEM\n" });
}

/** The same by kustomize and by Helm. */
interface Both {
  readonly name: string;
  readonly byKustomize: KubeObject[];
  readonly byHelm: KubeObject[];
}

const built: Both[] = [];
/** Each component alone, beside each other one, and in the sets that lack none or one; built once. */
function all(): readonly Both[] {
  if (built.length > 0) return built;
  for (const chosen of combinations(Object.keys(gatewayComponents)))
    built.push({
      name: ["gateway", ...chosen].join(" + "),
      byKustomize: gatewayOverlay(chosen),
      byHelm: rendered("gateway", { host: HOST, ...valuesOf(gatewayComponents, chosen) }),
    });
  for (const chosen of combinations(Object.keys(workerComponents)))
    built.push({
      name: ["worker", ...chosen].join(" + "),
      byKustomize: workerOverlay(chosen),
      byHelm: rendered("worker", { ...worker, ...valuesOf(workerComponents, chosen) }),
    });
  return built;
}

describe("the charts equal the kustomize bases", () => {
  test("by default", () => {
    expect(comparable(rendered("gateway"))).toEqual(comparable(kustomized(gatewayFolder)));
    expect(comparable(rendered("worker", worker))).toEqual(comparable(workerOverlay([])));
  });

  test("each component has values of the chart here", () => {
    // The charts see by themselves that they are on OpenShift.
    for (const [folder, components] of [
      [gatewayFolder, gatewayComponents],
      [workerFolder, workerComponents],
    ] as const)
      expect(readdirSync(join(folder, "components")).sort()).toEqual(
        [...Object.keys(components), "openshift"].sort(),
      );
  });

  test("on OpenShift, alone and last", () => {
    const onOpenShift = ["--api-versions", "security.openshift.io/v1"];
    for (const more of [[], ["shared-store"]]) {
      const byHelm = rendered(
        "gateway",
        { host: HOST, ...valuesOf(gatewayComponents, more) },
        [],
        onOpenShift,
      );
      expect(comparable(byHelm)).toEqual(comparable(gatewayOverlay([...more, "openshift"])));
    }
    const byHelm = rendered("worker", worker, [], onOpenShift);
    expect(comparable(byHelm)).toEqual(comparable(workerOverlay(["openshift"])));
  });

  test("with each component, each pair of them, all of them, and all but one", () => {
    expect(all()).toHaveLength(37 + 29);
    for (const { name, byKustomize, byHelm } of all())
      expect.soft(comparable(byHelm), name).toEqual(comparable(byKustomize));
  });
});

test("a changed config replaces the pods, by a hash in the name or a checksum in the template", () => {
  const pairs: [KubeObject[], KubeObject[]][] = [
    [kustomized(gatewayFolder), gatewayOverlay([])],
    [rendered("gateway"), rendered("gateway", { host: HOST })],
    [workerOverlay([]), workerOverlay([], { ...worker, clusterId: "west" })],
    [rendered("worker", worker), rendered("worker", { ...worker, clusterId: "west" })],
  ];
  for (const [one, other] of pairs) {
    expect(reactions(one)).not.toEqual([]);
    expect(new Set([...reactions(one), ...reactions(other)]).size).toBe(2);
  }
});

test("helm lint finds no error, and each chart fails with what is missing", () => {
  for (const [chart, values] of [
    [charts.gateway, `host=${HOST},config.access.public=true`],
    [charts.worker, "gateway=https://doh.example.org,clusterId=east"],
  ] as const)
    expect(helm("lint", "--strict", chart.folder, "--set", values)).toContain("0 chart(s) failed");
  expect(() => rendered("worker", { clusterId: "east" })).toThrow(/gateway: give the address of the gateway/);
  expect(() => rendered("worker", { gateway: worker.gateway })).toThrow(/clusterId: give the cluster id/);
  expect(() => rendered("gateway", { "ingress.enabled": "true" })).toThrow(/host: give the name/);
  expect(() => rendered("gateway", {}, [], ["--kube-version", "1.26.0"])).toThrow(/requires kubeVersion/);
});

test("what the gateway listens on has ports in Service, pod and NetworkPolicy", () => {
  const path = join(temporaryFolder("values"), "values.yaml");
  const dns = { listen: [":5353", { address: ":5301", view: "east" }] };
  const config = { access: { public: true }, dns, dot: { listen: [":8853"] } };
  const spec = { externalTrafficPolicy: "Local", ipFamilyPolicy: "PreferDualStack" };
  writeFileSync(path, stringify({ config, service: { type: "LoadBalancer", spec } }));
  const objects = rendered("gateway", {}, [path]);
  const of = (kind: string) => objects.find((one) => one.kind === kind)!;
  expect(of("Service").spec).toMatchObject({ type: "LoadBalancer", ...spec });
  for (const [name, port, containerPort, protocol] of [
    ["dns", 53, 5353, "UDP"],
    ["dns-tcp", 53, 5353, "TCP"],
    ["dns-5301", 5301, 5301, "UDP"],
    ["dns-tcp-5301", 5301, 5301, "TCP"],
    ["dot", 853, 8853, "TCP"],
  ] as const)
    for (const [kind, entry] of [
      ["Service", { name, port, targetPort: name, protocol }],
      ["StatefulSet", { name, containerPort, protocol }],
      ["NetworkPolicy", { port: name, protocol }],
    ] as const)
      expect(JSON.stringify(of(kind)), kind).toContain(JSON.stringify(entry));
});

describe.each(["gateway", "worker"] as const)("the pod of the chart %s", (chart) => {
  const needed = chart === "worker" ? worker : {};
  const podIn = (objects: readonly KubeObject[]) =>
    (
      objects.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment") as never as {
        spec: {
          template: { metadata: { labels: object; annotations: object }; spec: Record<string, unknown> };
        };
      }
    ).spec.template;

  test("is what Service, policy and budget select, and the pod of helm test is not", () => {
    const objects = rendered(chart, needed);
    const tester = objects.find(({ kind }) => kind === "Pod")!.metadata.labels!;
    const { labels } = podIn(objects).metadata;
    const selectors = objects.flatMap(({ kind, spec }) => {
      const { selector, podSelector = selector } = (spec ?? {}) as Record<string, { matchLabels?: object }>;
      return kind === "Pod" || podSelector === undefined ? [] : [podSelector.matchLabels ?? podSelector];
    });
    expect(selectors.length).toBeGreaterThan(2);
    for (const selector of selectors) {
      expect(labels).toMatchObject(selector);
      expect(tester).not.toMatchObject(selector);
    }
  });

  test("has labels, annotations, variables, volumes and a priority of its values, and objects beside it", () => {
    const file = join(temporaryFolder("values"), "values.yaml");
    const volume = { name: "more", emptyDir: { medium: "Memory" } };
    const mount = { name: "more", mountPath: "/more" };
    const variable = { name: "HTTPS_PROXY", value: "http://proxy.example:3128" };
    const secret = (name: string) => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
    const authorization = { credentials: { name: "prometheus-token", key: "token" } };
    const serviceMonitor = { enabled: true, authorization };
    const values = {
      ...(chart === "gateway" && { host: HOST, config: { access: { public: true } }, serviceMonitor }),
      podLabels: { team: "dns" },
      podAnnotations: { "a.example/b": "c" },
      env: [variable],
      volumes: [volume],
      volumeMounts: [mount],
      priorityClassName: "system-cluster-critical",
      podSecurityContext: { fsGroup: 1000 },
      extraObjects: [secret("{{ .Release.Name }}-more")],
    };
    writeFileSync(file, stringify(values));
    const objects = rendered(chart, needed, [file]);
    const { metadata, spec } = podIn(objects);
    expect(metadata.labels).toMatchObject({ team: "dns", "app.kubernetes.io/name": "clusterset-doh" });
    expect(metadata.annotations).toMatchObject({ "a.example/b": "c", "checksum/config": expect.any(String) });
    expect(spec).toMatchObject({
      priorityClassName: "system-cluster-critical",
      securityContext: { runAsUser: 65532, fsGroup: 1000 },
      volumes: expect.arrayContaining([volume]),
      containers: [
        { env: expect.arrayContaining([variable]), volumeMounts: expect.arrayContaining([mount]) },
      ],
    });
    expect(objects).toContainEqual(secret(`${charts[chart].release}-more`));
    const monitors = objects.filter(({ kind }) => kind === "ServiceMonitor");
    for (const { spec } of monitors) expect(spec).toMatchObject({ endpoints: [{ authorization }] });
    expect(monitors).toHaveLength(chart === "gateway" ? 1 : 0);
  });
});

test.each([
  [
    "gateway",
    { host: "https://doh.example.org" },
    "'/host': 'https://doh.example.org' is not valid hostname",
  ],
  ["gateway", { "clusters.East.token": "a" }, "'/clusters': additional properties 'East' not allowed"],
  [
    "gateway",
    { "config.limits.connections": "many" },
    "'/config/limits/connections': got string, want integer",
  ],
  // They would break the pod, or the chart overwrites them.
  ["gateway", { "config.listen": "a" }, "'/config': additional properties 'listen' not allowed"],
  [
    "gateway",
    { "config.stateDirectory": "a" },
    "'/config': additional properties 'stateDirectory' not allowed",
  ],
  ["gateway", { "config.store": "a" }, "'/config': additional properties 'store' not allowed"],
  [
    "worker",
    { ...worker, gateway: HOST },
    "'/gateway': 'doh.example.org' does not match pattern '^https?://'",
  ],
] as const)("the chart of the %s rejects %j: %s", (chart, values, reason) => {
  expect(() => rendered(chart, values)).toThrow(reason);
});

describe("the config file that the chart renders", () => {
  /** As the gateway reads it. */
  function configOf(values: Readonly<Record<string, string>>, files: readonly string[] = []) {
    const config = rendered("gateway", values, files).find(({ kind }) => kind === "ConfigMap");
    const file = join(temporaryFolder("config"), "gateway.yaml");
    writeFileSync(file, (config!.data as Record<string, string>)["gateway.yaml"]!);
    return readServeConfig({ config: file });
  }

  test("has who may query from whoever installs: the documented rule does not leave the gateway open", () => {
    const { folder, release } = charts.gateway;
    expect(() => helm("template", release, folder, "--set", `host=${HOST}`)).toThrow(
      /config\.access: say who may query: --set config\.access\.public=true/,
    );
    expect(configOf({}).access).toMatchObject({ public: true });
    const [values] = blocksIn("docs/how-to/deploy/kubernetes.md", "yaml").filter((block) =>
      block.startsWith("# values.yaml"),
    );
    const file = join(temporaryFolder("values"), "values.yaml");
    writeFileSync(file, values!);
    const { access, zones } = configOf({}, [file]);
    expect(access.public).not.toBe(true);
    expect(access.rules).toMatchObject([{ name: "office" }]);
    expect(zones).toContain("clusterset.example.org");
  });

  test("has the port of the Service in publicUrl, unless clients come by an Ingress or a route", () => {
    const urlOf = (values: Readonly<Record<string, string>>) => configOf({ host: HOST, ...values }).publicUrl;
    expect(urlOf({})).toBe(`https://${HOST}`);
    expect(urlOf({ "service.port": "8443" })).toBe(`https://${HOST}:8443`);
    expect(urlOf({ "service.port": "8443", "ingress.enabled": "true" })).toBe(`https://${HOST}`);
  });

  test("has a credential for each cluster: the file of its token, or what else is given", () => {
    const oidc = { issuer: "https://issuer.example", subject: "worker", jwksFile: "/etc/keys/west" };
    const given = Object.entries(oidc).map(([key, value]) => [`clusters.west.oidc.${key}`, value]);
    const { credentials } = configOf({ "clusters.east.token": "secret", ...Object.fromEntries(given) }).push;
    expect(credentials).toMatchObject([
      { clusterId: "east", tokenFile: "/etc/clusterset-doh/tokens/east" },
      { clusterId: "west", oidc },
    ]);
    expect(JSON.stringify(credentials)).not.toContain("secret");
  });
});

describe("a real API server with the CRDs of cert-manager, Gateway API and the Prometheus operator", () => {
  const folder = temporaryFolder("install");
  let server: ApiServer;
  let kubectl: (...args: string[]) => ReturnType<typeof runProgram>;

  beforeAll(async () => {
    const program = await ensureTool("kubectl");
    server = await startApiServer({ crds: false });
    const access = ["--kubeconfig", server.kubeconfig(), "--cache-dir", join(folder, "cache")];
    kubectl = (...args) => runProgram(program, [...access, ...args]);
    const files = (await operatorCrds()).flatMap((path) => ["--filename", path]);
    expect(await kubectl("create", ...files)).toMatchObject({ code: 0 });
    const established = ["--for=condition=Established", "crd", "--all", `--timeout=${DEADLINE / 1000}s`];
    expect(await kubectl("wait", ...established)).toMatchObject({ code: 0 });
    for (const { namespace } of Object.values(charts))
      expect(await kubectl("create", "namespace", namespace)).toMatchObject({ code: 0 });
  });

  afterAll(() => server?.stop());

  const objectsOfAll = () => all().flatMap(({ byKustomize, byHelm }) => [...byKustomize, ...byHelm]);
  const dryRun = (objects: readonly object[]) => {
    const file = join(folder, "objects.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"));
    return kubectl("apply", "--dry-run=server", "--validate=strict", "--filename", file);
  };

  test("takes every object of these combinations", async () => {
    const onOpenShift = [...gatewayOverlay(["openshift"]), ...workerOverlay(["openshift"])];
    const distinct = new Map(
      [...objectsOfAll(), ...onOpenShift].map((object) => [JSON.stringify(object), object]),
    );
    expect(distinct.size).toBeGreaterThan(40);
    const applied = await dryRun([...distinct.values()]);
    expect(applied).toMatchObject({ code: 0, stderr: expect.not.stringMatching(/error|unknown field/i) });
    expect(applied.stdout.trim().split("\n")).toHaveLength(distinct.size);
  });

  test("rejects a damaged Certificate", async () => {
    const damaged = structuredClone(objectsOfAll().find(({ kind }) => kind === "Certificate")!);
    delete (damaged.spec as Record<string, unknown>).issuerRef;
    const stderr = expect.stringMatching(/spec\.issuerRef/);
    expect(await dryRun([damaged])).toMatchObject({ code: 1, stderr });
  });
});
