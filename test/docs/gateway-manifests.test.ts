import { expect, it } from "vitest";
import { parse } from "yaml";
import { configFiles } from "../config/config-files.ts";
import { textOf } from "./pages.ts";

const text = (name: string) => textOf(`infra/kubernetes/gateway/${name}`);
const config = configFiles();
const read = (name: string) => parse(text(name));
const configText = text("gateway.yaml");
const { template, volumeClaimTemplates } = read("statefulset.yaml").spec;
const [container] = template.spec.containers;

it("the gateway takes the config file of infra/kubernetes/gateway", () => {
  expect(config.read(configText)).toMatchObject({ listen: ":8443", push: { credentials: [] } });
});

it("the pod mounts every folder that the config file names, and writes to the state folder only", () => {
  const mounts = new Map<string, { readOnly?: boolean }>(
    container.volumeMounts.map((mount: { mountPath: string }) => [mount.mountPath, mount]),
  );
  for (const [path] of configText.matchAll(/\/(?:etc|var)\/[\w./-]+/g)) {
    const mounted = [...mounts.keys()].filter((folder) => path === folder || path.startsWith(`${folder}/`));
    expect(mounted, path).toHaveLength(1);
  }
  const writable = [...mounts].flatMap(([path, { readOnly }]) => (readOnly === true ? [] : [path]));
  expect(writable).toEqual(["/var/lib/clusterset-doh"]);
  expect(volumeClaimTemplates).toHaveLength(1);
});

it("the gateway takes the config file of components/shared-store, whose files are in the folders that the pod mounts", () => {
  const shared = text("components/shared-store/gateway.yaml");
  expect(config.read(shared).store).toMatchObject({ passwordFile: "/etc/clusterset-doh/store/password" });
  const patches: { value?: { mountPath?: string } }[] = read("components/shared-store/deployment.yaml");
  const added = patches.flatMap(({ value }) => value?.mountPath ?? []);
  const mounts = [...added, ...container.volumeMounts.map((mount: { mountPath: string }) => mount.mountPath)];
  for (const [path] of shared.matchAll(/\/(?:etc|var)\/[\w./-]+/g))
    expect(
      mounts.filter((mounted) => path.startsWith(`${mounted}/`)),
      path,
    ).toHaveLength(1);
});

it("the Service and the probes lead to the port that the gateway listens on", () => {
  const [{ containerPort, name }] = container.ports;
  expect(configText).toContain(`listen: ":${containerPort}"`);
  expect(read("service.yaml").spec.ports[0].targetPort).toBe(name);
  expect(read("network-policy.yaml").spec.ingress).toEqual([{ ports: [{ port: name }] }]);
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
    expect(probe.httpGet).toMatchObject({ port: name, scheme: "HTTPS" });
});

it("the PrometheusRule of kustomize has the alerts of the chart", () => {
  const rules = parse(textOf("infra/helm/gateway/alerts.yaml"));
  expect(read("components/monitoring/prometheus-rule.yaml").spec).toEqual(rules);
});
