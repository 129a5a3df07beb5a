import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeAuthority, makeServer } from "../../hosts/client-certificates.ts";
import { untilAnswered } from "../harness/answers.ts";
import { type GatewayProcess, startGateway, startSync } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { startWebPage, type WebPage } from "./web-page.ts";

export const ALIAS = "clusterset.test";
/** The name of the page. */
export const NAME = `web.shop.svc.${ALIAS}`;
/** The text of the page. */
export const TEXT = "a page of the clusterset";

/** A gateway with one service, `web` in `shop`, whose address is that of a web page on this machine. */
export interface GatewayOfAPage {
  readonly gateway: GatewayProcess;
  readonly page: WebPage;
  /** The text of a file behind `/setup`, for the alias zone. */
  setupFile(path: string): Promise<string>;
  stop(): Promise<void>;
}

/** @param signed whether the gateway's certificate is that of an authority, or self-signed */
export async function startGatewayOfAPage(signed: boolean): Promise<GatewayOfAPage> {
  const page = await startWebPage(TEXT);
  const certificate = signed ? await makeSigned() : undefined;
  const gateway = await startGateway({
    clusters: ["cluster-a"],
    zones: [ALIAS],
    ...(certificate && { certificate }),
  });
  const manifests = temporaryFolder("manifests");
  writeFileSync(join(manifests, "web.yaml"), MANIFESTS);
  const worker = startSync({ manifests, clusterId: "cluster-a", gateways: [gateway] });
  await untilAnswered(gateway, "web.shop", ["127.0.0.1"]);
  return {
    gateway,
    page,
    async setupFile(path) {
      const { status, text } = await gateway.http(`/setup/${path}?zone=${ALIAS}`);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      return text;
    },
    async stop() {
      await worker.stop();
      await gateway.stop();
      await page.stop();
    },
  };
}

async function makeSigned() {
  const authority = await makeAuthority("Test authority");
  return { ...(await makeServer(authority, ["localhost"], ["127.0.0.1"])), ca: authority.cert };
}

const MANIFESTS = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  clusterIP: 10.96.0.110
  ports: [{ name: http, port: 80 }]
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceExport
metadata: { name: web, namespace: shop, creationTimestamp: "2026-01-10T08:00:00Z" }
---
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: { name: web, namespace: shop }
spec:
  type: ClusterSetIP
  ips: ["127.0.0.1"]
  ports: [{ name: http, protocol: TCP, port: 80 }]
`;
