import { parse } from "yaml";
import type { KubeObject } from "../../servers/kubernetes/objects.ts";

interface Metadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/**
 * Objects by kind and name, without what only one of Helm and kustomize has: Helm's own labels and tests, the
 * namespace, and the two ways in which a changed ConfigMap replaces a pod.
 */
export function comparable(objects: readonly KubeObject[]): Record<string, object> {
  const generated = objects.flatMap(({ kind, metadata: { name } }) =>
    kind === "ConfigMap" && /-[a-z\d]{10}$/.test(name) ? [name] : [],
  );
  const text = generated.reduce(
    (json, name) => json.replaceAll(`"${name}"`, `"${name.slice(0, -11)}"`),
    JSON.stringify(objects),
  );
  const compared = (JSON.parse(text) as KubeObject[]).filter(
    ({ kind, metadata }) =>
      kind !== "Namespace" && !("helm.sh/hook" in ((metadata as Metadata).annotations ?? {})),
  );
  return Object.fromEntries(
    compared.map((object) => {
      strip(object.metadata as Metadata);
      const { spec, data } = object as {
        spec?: { template?: { metadata: Metadata } };
        data?: Record<string, string>;
      };
      if (spec?.template !== undefined) strip(spec.template.metadata);
      // Comments and quotes do not count.
      if (data?.["gateway.yaml"] !== undefined) data["gateway.yaml"] = parse(data["gateway.yaml"]);
      return [`${object.kind} ${object.metadata.name}`, object];
    }),
  );
}

/**
 * The names of the ConfigMaps that kustomize named by their content, and the checksums that Helm wrote into
 * pods.
 */
export function reactions(objects: readonly KubeObject[]): string[] {
  const text = JSON.stringify(objects);
  return [
    ...text.matchAll(/"(?:checksum\/config":"([\da-f]{64})|(?:gateway|sync-worker)-([a-z\d]{10}))"/g),
  ].map(([, checksum, hash]) => (checksum ?? hash)!);
}

function strip(metadata: Metadata): void {
  delete metadata.labels?.["helm.sh/chart"];
  delete metadata.labels?.["app.kubernetes.io/managed-by"];
  delete metadata.annotations?.["checksum/config"];
  if (Object.keys(metadata.annotations ?? {}).length === 0) delete metadata.annotations;
}
