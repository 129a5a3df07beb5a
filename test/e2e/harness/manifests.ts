import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The headless service `shop/db` of a cluster. */
export interface Database {
  readonly port: number;
  /** RFC 3339; without it the export counts from the push. */
  readonly exportedAt?: string;
  readonly endpoints: readonly { readonly address: string; readonly hostname?: string }[];
}

/**
 * Replaces the manifests of a folder by those of a namespace, a Service, its ServiceExport and its
 * EndpointSlice, in one step.
 */
export function writeDatabase(manifests: string, { port, exportedAt, endpoints }: Database): void {
  mkdirSync(manifests, { recursive: true });
  const draft = `${manifests}.draft`;
  const created = exportedAt === undefined ? {} : { creationTimestamp: exportedAt };
  writeFileSync(
    draft,
    `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: db }
spec: { clusterIP: None, ports: [{ name: pg, port: ${port} }] }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: ${JSON.stringify({ namespace: "shop", name: "db", ...created })}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: db-1, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ name: pg, port: ${port} }]
endpoints: ${JSON.stringify(endpoints.map(({ address, ...rest }) => ({ addresses: [address], ...rest })))}
`,
  );
  renameSync(draft, join(manifests, "objects.yaml"));
}
