import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CoreDns, kubernetesPlugin, startCoreDns } from "./coredns.ts";
import { queryDoh, queryTcp, queryUdp } from "./dns.ts";
import { ApiError } from "./kubernetes/api-client.ts";
import { type ApiServer, startApiServer } from "./kubernetes/api-server.ts";
import { clusterProperty, importedSlice, namespace, serviceImport } from "./kubernetes/objects.ts";
import { createServiceAccount } from "./kubernetes/service-account.ts";
import { waitFor } from "./wait.ts";

describe("the servers of the end-to-end tests", () => {
  let east: ApiServer;
  let west: ApiServer;
  let coredns: CoreDns;

  beforeAll(async () => {
    [east, west] = await Promise.all([startApiServer({ name: "east" }), startApiServer({ name: "west" })]);
    await east.admin.apply(
      namespace("shop"),
      serviceImport("shop", "db", { type: "Headless", ports: [{ name: "pg", port: 5432, protocol: "TCP" }] }),
      importedSlice("shop", "db", "cluster-a", {
        ports: [{ name: "pg", port: 5432 }],
        endpoints: [{ addresses: ["10.1.0.7"], hostname: "db-0", conditions: { ready: true } }],
      }),
    );
    coredns = await startCoreDns([kubernetesPlugin({ kubeconfig: east.kubeconfig() })], { doh: true });
  });

  afterAll(async () => {
    await coredns?.stop();
    await Promise.all([east?.stop(), west?.stop()]);
  });

  test("CoreDNS answers from the API server over UDP, TCP and DoH", async () => {
    const query = { name: "db-0.cluster-a.db.shop.svc.clusterset.local", type: "A" } as const;
    const doh = coredns.doh!;
    const answers = [
      await queryUdp(coredns.port, query),
      await queryTcp(coredns.port, query),
      await queryDoh(doh.url, query, { ca: doh.ca }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject({ rcode: "NOERROR", aa: true });
      expect(answer.message.answers).toMatchObject([{ type: "A", data: "10.1.0.7" }]);
    }
  });

  test("CoreDNS sees a change, also after the API server was killed", async () => {
    const query = { name: "web.shop.svc.clusterset.local", type: "A" } as const;
    expect(await queryUdp(coredns.port, query)).toMatchObject({ rcode: "NXDOMAIN" });
    await east.process.kill();
    await east.compactEtcd();
    await east.restart();
    const spec = { type: "ClusterSetIP", ips: ["10.200.0.1"], ports: [{ port: 80 }] };
    await east.admin.apply(serviceImport("shop", "web", spec));
    await waitFor("the new ServiceImport in DNS", async () => {
      return (await queryUdp(coredns.port, query)).rcode === "NOERROR";
    });
  });

  test("the API servers hold different objects and cluster ids", async () => {
    await west.admin.apply(clusterProperty("cluster.clusterset.k8s.io", "west"));
    await expect(west.admin.get(namespace("shop"))).rejects.toThrow(ApiError);
    await expect(east.admin.get(clusterProperty("cluster.clusterset.k8s.io", ""))).rejects.toThrow(ApiError);
  });

  test("a service account has only the rights of its role", async () => {
    const rules = [{ apiGroups: [""], resources: ["services"], verbs: ["list"] }];
    const account = await createServiceAccount(west.admin, "default", "reader", rules);
    const reader = west.clientFor(account.token);
    await waitFor("the role to hold", () => reader.api("GET", "/api/v1/services"));
    await expect(reader.api("GET", "/api/v1/secrets")).rejects.toMatchObject({ status: 403 });
    await west.admin.remove(account.binding);
    await waitFor("the role to be gone", async () => {
      return reader.api("GET", "/api/v1/services").then(
        () => false,
        (error: ApiError) => error.status === 403,
      );
    });
  });

  test("a deleted namespace does not exist", async () => {
    await west.admin.apply(namespace("gone"));
    await west.admin.deleteNamespace("gone");
    await expect(west.admin.get(namespace("gone"))).rejects.toMatchObject({ status: 404 });
  });
});
