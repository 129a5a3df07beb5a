import { beforeEach, describe, expect, test } from "vitest";
import { Report } from "../../src/snapshot/report.ts";
import { KubernetesSource } from "../../src/worker/kubernetes.ts";
import { ManifestSource } from "../../src/worker/manifest-source.ts";
import type { ObjectSource, SourceListener } from "../../src/worker/object-source.ts";
import { toDegradations } from "../../src/worker/object-source.ts";
import { Failures } from "../../src/worker/pacing.ts";
import { namespace, service, serviceExport } from "../extract/objects.ts";
import { until } from "../until.ts";
import type { ApiServerDouble } from "./api-server-double.ts";
import { WorkerWorld } from "./worker-world.ts";

const LISTENER: SourceListener = {
  upsert: () => {},
  delete: () => {},
  changed: () => {},
  failed: () => {},
};
const EXPORTS = "/apis/multicluster.x-k8s.io/v1beta1/serviceexports";

let world: WorkerWorld;
beforeEach(() => {
  world = new WorkerWorld();
});

/** Long before an API server would be silent for too long. */
const soon = () => performance.now() + 10_000;

/** Code and subject of each problem that a source has now. */
const problemsOf = (source: ObjectSource, now = performance.now()) =>
  source.problems(now).map(({ code, subject }) => (subject === undefined ? code : `${code} ${subject}`));

describe("problems of an API server", () => {
  let api: ApiServerDouble;
  let source: KubernetesSource;

  beforeEach(async () => {
    api = await world.startApi();
    api.put("/api/namespaces", namespace("shop"));
    source = await read();
    await until(() => expect(problemsOf(source)).toEqual([]));
  });

  async function read(more: { readonly nodeAddresses?: boolean } = {}): Promise<KubernetesSource> {
    const pauses = { first: 10, most: 50 };
    const times = { backoff: pauses, slowBackoff: pauses, discovery: 50, problemAfter: 50 };
    const { kubeconfig, logs: logger } = world;
    const reading = new KubernetesSource(
      { kubeconfig, clusterIdGiven: true, logger, times, ...more },
      LISTENER,
    );
    world.run((signal) => reading.run(signal));
    await until(() => expect(reading.complete).toBe(true));
    return reading;
  }

  test("that does not answer last until it does", async () => {
    const before = performance.now();
    await api.stop();
    await until(() => expect(problemsOf(source)).toContain("API_UNREACHABLE"));
    expect(new Set(problemsOf(source))).toEqual(new Set(["API_UNREACHABLE"]));
    for (const { since } of source.problems(performance.now())) expect(since).toBeGreaterThanOrEqual(before);
    await api.start();
    await until(() => expect(source.problems(soon())).toEqual([]));
  });

  test("begin with the first failure, and count after a while: a restart is none", async () => {
    await api.stop();
    await until(() => expect(source.problems(soon())).not.toEqual([]));
    const since = Math.max(...source.problems(soon()).map((problem) => problem.since));
    expect(source.problems(since + 49)).not.toContainEqual(expect.objectContaining({ since }));
    expect(source.problems(since + 51)).toContainEqual(expect.objectContaining({ since }));
  });

  test("that is silent begin when it last said something", async () => {
    await until(() => {
      const since = source.lastConfirmed()!;
      expect(problemsOf(source, since + 59_000)).toEqual([]);
      expect(source.problems(since + 60_001)).toContainEqual({ code: "API_UNREACHABLE", since });
    });
  });

  test.each([
    ["list or watch", () => api.refuse],
    ["watch", () => api.refuseWatches],
  ])("that forbids to %s a resource name it, and last over all attempts", async (_, refused) => {
    refused().set(EXPORTS, 403);
    api.closeWatches("end");
    const forbidden = ["RBAC_FORBIDDEN serviceexports.multicluster.x-k8s.io"];
    await until(() => expect(problemsOf(source)).toEqual(forbidden));
    const requests = api.seen.length;
    await until(() => {
      expect(problemsOf(source)).toEqual(forbidden);
      expect(api.seen.length).toBeGreaterThan(requests + 20);
    });
    refused().clear();
    await until(() => expect(problemsOf(source)).toEqual([]));
  });

  test("that forbids nodes are problems where their addresses are exported", async () => {
    const withNodes = await read({ nodeAddresses: true });
    api.refuse.set("/api/v1/nodes", 403);
    api.closeWatches("end");
    await until(() => expect(problemsOf(withNodes)).toEqual(["RBAC_FORBIDDEN nodes"]));
  });

  test("that rejects the credentials name no resource", async () => {
    for (const path of ["/api/v1/namespaces", "/api/v1/services"]) api.refuse.set(path, 401);
    api.closeWatches("end");
    await until(() => expect(problemsOf(source)).toEqual(["API_UNAUTHENTICATED", "API_UNAUTHENTICATED"]));
  });
});

describe("problems of manifests", () => {
  let source: ManifestSource;

  beforeEach(async () => {
    world.write("shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n");
    source = new ManifestSource({ directory: world.folder, watch: true, logger: world.logs }, LISTENER);
    world.run((signal) => source.run(signal));
    await until(() => expect(source.complete).toBe(true));
  });

  test("name each file that is broken, and keep their begin until it is repaired", async () => {
    expect(problemsOf(source)).toEqual([]);
    world.write("web.yaml", "kind: [\n");
    await until(() => expect(problemsOf(source)).toEqual(["MANIFEST_BROKEN web.yaml"]));
    const { since } = source.problems()[0]!;
    world.write("shop.yaml", "}");
    await until(() =>
      expect(problemsOf(source)).toEqual(["MANIFEST_BROKEN shop.yaml", "MANIFEST_BROKEN web.yaml"]),
    );
    expect(source.problems()[1]!.since).toBe(since);
    world.write("web.yaml", "");
    await until(() => expect(problemsOf(source)).toEqual(["MANIFEST_BROKEN shop.yaml"]));
  });
});

describe("the report of problems", () => {
  test("has each code once, with its first begin, one subject and how many there are", () => {
    const problems = [
      { code: "RBAC_FORBIDDEN", since: 9000, subject: "services" },
      { code: "API_UNREACHABLE", since: 4000 },
      { code: "RBAC_FORBIDDEN", since: 7000, subject: "nodes" },
      { code: "API_UNREACHABLE", since: 5000 },
    ];
    expect(toDegradations(problems, 10_000)).toEqual([
      { reason: "RBAC_FORBIDDEN", seconds: 3, subject: "nodes", count: 2 },
      { reason: "API_UNREACHABLE", seconds: 6 },
    ]);
  });

  test("is valid for a gateway, however many problems there are", () => {
    const problems = Array.from({ length: 5000 }, (_, index) => ({
      code: `CODE_${index % 12}`,
      since: 0,
      subject: `${"größe/".repeat(index % 40)}${index}.yaml`,
    }));
    expect(Report.safeParse({ degraded: toDegradations(problems, 1e9) }).success).toBe(true);
  });
});

test("a worker reports that the cluster lost its id to every gateway, and that it has one again", async () => {
  const api = await world.startApi();
  const gateways = [await world.startGateway(), await world.startGateway()];
  api.put("/api/namespaces", namespace("shop"));
  const system = { ...namespace("kube-system"), metadata: { name: "kube-system", uid: "east" } };
  api.put("/api/namespaces", system);
  api.put("/api/services", service("shop/web"));
  api.put("/apis/multicluster.x-k8s.io/serviceexports", serviceExport("shop/web"));
  const reported = (reasons: readonly string[]) =>
    until(() => {
      for (const { seen } of gateways) {
        const degraded = (seen.at(-1)?.degraded ?? []) as { reason: string }[];
        expect(degraded.map(({ reason }) => reason)).toEqual(reasons);
      }
    });
  world.run((signal) => world.work({ clusterId: undefined }, signal));
  await until(() => expect(gateways.map(({ held }) => held.size)).toEqual([1, 1]));
  api.remove("/api/namespaces", "undefined/kube-system");
  await reported(["CLUSTER_ID_UNKNOWN"]);
  api.put("/api/namespaces", system);
  await reported([]);
});

describe("failures of a resource", () => {
  const failed = (...events: readonly (readonly [code: string, at: number])[]) => {
    const failures = new Failures(5000);
    for (const [code, at] of events) {
      failures.problem(at);
      if (code === "over") failures.over();
      else failures.failed(code, at);
    }
    return failures;
  };
  const [GONE, FORBIDDEN] = ["API_UNREACHABLE", "RBAC_FORBIDDEN"];

  test.each([
    ["are no problem for 5 seconds", failed([GONE, 0]), 4999, undefined],
    ["are one after that", failed([GONE, 0]), 5000, { code: GONE, since: 0 }],
    ["begin with the first one", failed([GONE, 0], [GONE, 8000]), 9000, { code: GONE, since: 0 }],
    ["end when it works", failed([GONE, 0], ["over", 6000]), 9000, undefined],
    ["begin anew after that", failed([GONE, 0], ["over", 6000], [GONE, 7000]), 11_999, undefined],
    [
      "keep their code while another one is new",
      failed([GONE, 0], [FORBIDDEN, 8000]),
      12_999,
      { code: GONE, since: 0 },
    ],
    [
      "take another code once it lasts",
      failed([GONE, 0], [FORBIDDEN, 8000], [FORBIDDEN, 10_000]),
      13_000,
      { code: FORBIDDEN, since: 0 },
    ],
    [
      "keep their code when it comes back",
      failed([GONE, 0], [FORBIDDEN, 8000], [GONE, 9000]),
      20_000,
      { code: GONE, since: 0 },
    ],
  ])("%s", (_, failures, now, problem) => {
    expect(failures.problem(now)).toEqual(problem);
  });
});
