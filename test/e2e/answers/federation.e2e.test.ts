import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { withSourceCluster } from "../../../src/resolve/source-cluster.ts";
import { makeAuthority, makeClient, type PemPair } from "../../hosts/client-certificates.ts";
import { eventually, untilLive } from "../harness/answers.ts";
import type { AskOptions } from "../harness/gateway-client.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { answerOf, type DnsAnswer, queryBytes, queryDoh } from "../servers/dns.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const NAME = "myservice.myns.myfederation.svc.federation";

/** Shards of one federated service, and where their clusters are; "cluster-c" is the one that K8S-DNS runs in. */
const SHARDS = {
  "cluster-a": { region: "us-east", zone: "us-east-1a", clusterIP: "10.1.3.64", external: "104.32.64.128" },
  "cluster-b": { region: "eu-west", zone: "eu-west-1b", clusterIP: "10.2.4.20", external: "104.32.64.130" },
  "cluster-c": { region: "eu-west", zone: "eu-west-1a", clusterIP: "10.3.62.6", external: "108.120.45.12" },
  "cluster-d": { region: "eu-west", zone: "eu-west-1a", clusterIP: "10.4.62.6", external: "108.120.45.13" },
};
type ClusterId = keyof typeof SHARDS;
const CLUSTERS = Object.keys(SHARDS) as ClusterId[];
const HOME = "cluster-c";
/** For cluster-c: its own clusterIP, then the same zone, the same region, any. */
const FROM_HOME = ["10.3.62.6", "108.120.45.13", "104.32.64.130", "104.32.64.128"];

let federated: GatewayProcess;
let local: GatewayProcess;
let controller: PemPair;
const workers: SyncProcess[] = [];

beforeAll(async () => {
  const authority = await makeAuthority("federation control plane");
  controller = await makeClient(authority, "cluster-controller");
  const folder = temporaryFolder("clients");
  const clientCaFile = join(folder, "clients.crt");
  writeFileSync(clientCaFile, authority.cert);

  federated = await startGateway({
    clusters: CLUSTERS,
    config: { federations: [{ name: "myfederation", domain: "federation.example.com" }] },
  });
  local = await startGateway({
    clusters: [HOME],
    config: {
      tls: { clientCaFile },
      sourceCluster: { self: HOME },
      stub: {
        upstreams: [
          { origin: federated.url, caFile: federated.caFile, tokenFile: federated.tokenFileFor(HOME) },
        ],
      },
    },
  });
  const manifests = Object.fromEntries(CLUSTERS.map((clusterId) => [clusterId, manifestsOf(clusterId)]));
  for (const clusterId of CLUSTERS)
    workers.push(startSync({ manifests: manifests[clusterId]!, clusterId, gateways: [federated] }));
  workers.push(startSync({ manifests: manifests[HOME]!, clusterId: HOME, gateways: [local] }));
  await untilLive(federated, CLUSTERS.length);
  await untilLive(local, 1);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await local?.stop();
  await federated?.stop();
});

/** Addresses in the order in which they stand in the answer. */
function inOrder({ message }: DnsAnswer): unknown[] {
  return (message.answers ?? []).map((record) => "data" in record && record.data);
}

const addresses = async (gateway: GatewayProcess, name: string, options?: AskOptions) =>
  inOrder(await gateway.query(name, "A", options));

async function register(method: "POST" | "GET" | "DELETE", nameservers?: string[]) {
  const dispatcher = new Agent({ connect: { ca: local.ca, ...controller } });
  try {
    const { statusCode, body } = await request(`${local.url}/federations/myfederation`, {
      method,
      dispatcher,
      headers: nameservers === undefined ? {} : { "content-type": "application/json" },
      body: nameservers === undefined ? null : JSON.stringify({ nameservers }),
    });
    return { status: statusCode, text: await body.text() };
  } finally {
    await dispatcher.destroy();
  }
}

describe("Federated-DNS alone", () => {
  test("orders addresses for the cluster of the path, and keeps that order", async () => {
    for (let time = 0; time < 4; time++)
      expect(await addresses(federated, NAME, { view: HOME })).toEqual(FROM_HOME);
    expect(await addresses(federated, NAME, { view: "cluster-a" })).toHaveLength(4);
    expect((await addresses(federated, NAME, { view: "cluster-a" }))[0]).toBe("10.1.3.64");
  });

  test("has every shard's load balancer below the registered domain for external clients", async () => {
    const external = await addresses(federated, `myservice.myns.myfederation.svc.federation.example.com`);
    expect(external.sort()).toEqual(CLUSTERS.map((clusterId) => SHARDS[clusterId].external).sort());
  });

  test("accepts the option only from a client with that cluster's token", async () => {
    const asHome = withSourceCluster(queryBytes({ name: NAME, type: "A" }, 0), 65001, HOME);
    const ask = (headers: Record<string, string>) =>
      queryDoh(`${federated.url}/dns-query`, asHome, { ca: federated.ca, headers });
    expect(inOrder(await ask({ authorization: `Bearer ${federated.tokenFor(HOME)}` }))).toEqual(FROM_HOME);
    expect(inOrder(await ask({}))).not.toContain("10.3.62.6");
    const other = inOrder(await ask({ authorization: `Bearer ${federated.tokenFor("cluster-a")}` }));
    expect(other[0]).toBe("10.1.3.64");
    expect(other).not.toContain("10.3.62.6");
  });
});

describe("K8S-DNS with a stub zone for Federated-DNS", () => {
  test("has no such names before the stub zone is registered", async () => {
    expect((await local.query(NAME, "A")).rcode).toBe("REFUSED");
  });

  test("puts the own cluster's address first for a client without an option", async () => {
    // The first name server is dead: it is skipped.
    const nameservers = ["https://127.0.0.1:9/dns-query", `${federated.url}/dns-query`];
    expect(await register("POST", nameservers)).toMatchObject({ status: 201 });
    for (const method of ["GET", "POST"] as const)
      expect(await addresses(local, NAME, { method })).toEqual(FROM_HOME);
    expect(await addresses(local, NAME, { view: HOME })).toEqual(FROM_HOME);
    expect(await local.json(NAME, "A")).toMatchObject({
      Status: 0,
      Answer: FROM_HOME.map((data) => ({ data })),
    });
  });

  test("forwards queries for a shard, a region, and missing names", async () => {
    expect(await addresses(local, `cluster-b.${NAME}`)).toEqual(["104.32.64.130"]);
    expect(await addresses(local, "myservice.myns.myfederation.svc.us-east.federation")).toEqual([
      "104.32.64.128",
    ]);
    expect((await local.query("none.myns.myfederation.svc.federation", "A")).rcode).toBe("NXDOMAIN");
  });

  test("does not forward a forged source cluster", async () => {
    const forged = withSourceCluster(queryBytes({ name: NAME, type: "A" }, 0), 65001, "cluster-a");
    const answer = await queryDoh(`${local.url}/dns-query`, forged, { ca: local.ca });
    expect(inOrder(answer)).toEqual(FROM_HOME);
  });

  test("still answers its own names, and all names after a restart", async () => {
    await local.restart();
    await untilLive(local, 1);
    expect(await addresses(local, NAME)).toEqual(FROM_HOME);
    expect((await local.query("dns-version.clusterset.local", "TXT")).rcode).toBe("NOERROR");
  });

  test("answers SERVFAIL while Federated-DNS is down, and recovers", async () => {
    await federated.kill();
    const { Status, Comment } = await local.json(NAME, "A");
    expect([Status, Comment]).toEqual([2, expect.stringContaining("Extended DNS Error 22")]);
    await federated.restart();
    await eventually(() => addresses(local, NAME)).toEqual(FROM_HOME);
  });

  test("has no such names after the stub zone was removed", async () => {
    expect(await register("DELETE")).toMatchObject({ status: 204 });
    expect(await register("GET")).toMatchObject({ status: 404 });
    const answer = answerOf((await local.query(NAME, "A")).raw);
    expect(answer.rcode).toBe("REFUSED");
  });
});

/** A folder with one cluster's objects: a node, and the exported service with its two addresses. */
function manifestsOf(clusterId: ClusterId): string {
  const { region, zone, clusterIP, external } = SHARDS[clusterId];
  const folder = temporaryFolder(clusterId);
  const metadata = { namespace: "myns", name: "myservice", creationTimestamp: "2026-11-01T00:00:00Z" };
  const labels = { "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone };
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "myns" } },
    { apiVersion: "v1", kind: "Node", metadata: { name: `node-of-${clusterId}`, labels } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: {
        type: "LoadBalancer",
        clusterIP,
        clusterIPs: [clusterIP],
        ports: [{ name: "http", port: 80, protocol: "TCP" }],
      },
      status: { loadBalancer: { ingress: [{ ip: external }] } },
    },
    { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport", metadata },
  ];
  writeFileSync(join(folder, "objects.yaml"), objects.map((object) => stringify(object)).join("---\n"));
  return folder;
}
