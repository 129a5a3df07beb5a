import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { PushClient } from "../../../src/sync/push/push-client.ts";
import { BENCH_WORLD, generateWorld } from "../../worlds/generate.ts";
import { answered, eventualAnswer } from "../harness/answers.ts";
import { openObjectFile } from "./object-file.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

/** Bytes of a row, or of a value in it, that a Durable Object takes. */
const MOST_ROW_BYTES = 2_000_000;
const ASKED = 20;

interface Row {
  key: string;
  bytes: number;
  digest: string;
}

describe("10,000 services with 100,000 endpoints in two clusters, by the sync worker's client", () => {
  const world = generateWorld(BENCH_WORLD);
  const signal = new AbortController().signal;
  let worker: WorkerProcess;
  let clients: PushClient[];

  beforeAll(async () => {
    worker = await startWorker({ clusters: world.map(({ clusterId }) => clusterId) });
    clients = world.map(
      ({ clusterId }) =>
        new PushClient({
          gateway: worker.url,
          token: worker.tokenFor(clusterId),
          leaseSeconds: 600,
          isCurrent: () => true,
          logger: { info() {}, warn() {}, error() {} },
        }),
    );
  });

  afterAll(async () => {
    await Promise.all((clients ?? []).map((client) => client.close()));
    await worker?.stop();
  });

  const deliver = (snapshots: readonly ClusterSnapshot[]) =>
    Promise.all(snapshots.map((snapshot, index) => clients[index]!.deliver(snapshot, signal)));

  /** What the file of the object holds. */
  const rows = (): Row[] => {
    const file = openObjectFile(worker);
    try {
      return file
        .prepare(
          `SELECT concat_ws(' ', cluster_id, name, part) AS key, hex(digest) AS digest,
             length(cluster_id) + length(name) + length(body) + length(digest) + 24 AS bytes
           FROM cluster_rows ORDER BY key`,
        )
        .all() as unknown as Row[];
    } finally {
      file.close();
    }
  };

  test("both are acknowledged, stored in rows below 2 MB, and answered", async () => {
    await deliver(world);
    for (const { clusterId } of world)
      expect(await worker.clusterStatus(clusterId)).toMatchObject({ live: true, exports: 10_000 });
    const kept = rows();
    for (const { clusterId, exports } of world)
      expect(kept.filter(({ key }) => key.startsWith(`${clusterId} exports/`))).toHaveLength(
        Object.keys(exports).length,
      );
    expect(kept.filter(({ bytes }) => bytes >= MOST_ROW_BYTES)).toEqual([]);
    expect((await worker.http("/readyz")).text).toContain("2 of 2 clusters live, 10000 services");
    const services = Object.keys(world[0]!.exports);
    for (let index = 0; index < services.length; index += services.length / ASKED) {
      const service = services[index]!;
      const [namespace, name] = service.split("/");
      expect(await answered(worker, `${name}.${namespace}`)).toEqual(addresses(world, service));
    }
  });

  test("a later change is a delta: the rows of its entry and of the state of its cluster", async () => {
    const before = rows();
    const first = world[0]!;
    const changed = structuredClone(first);
    const [group] = Object.values(changed.exports["team-0/service-7"]!.endpoints);
    (group!.members as Record<string, object>)["10.99.0.1#late"] = { address: "10.99.0.1", hostname: "late" };
    await deliver([changed]);
    await eventualAnswer(worker, "late.cluster-1.service-7.team-0").toEqual(["10.99.0.1"]);
    const after = rows();
    const digests = new Map(before.map(({ key, digest }) => [key, digest]));
    const written = after.filter(({ key, digest }) => digests.get(key) !== digest && !key.includes("@lease"));
    expect(written.map(({ key }) => key)).toEqual([
      "cluster-1 @state 0",
      "cluster-1 exports/team-0/service-7 0",
    ]);
    expect(after.filter(({ key }) => !key.includes("@lease"))).toHaveLength(
      before.filter(({ key }) => !key.includes("@lease")).length,
    );
    await worker.restart();
    // The start takes seconds at this size; the stored generation answers meanwhile.
    expect(await answered(worker, "late.cluster-1.service-7.team-0")).toEqual(["10.99.0.1"]);
    expect(await answered(worker, "service-9999.team-99")).toEqual(addresses(world, "team-99/service-9999"));
  });
});

/** What the name of a service is answered with: its ClusterSetIP, or the endpoints of all clusters. */
function addresses(world: readonly ClusterSnapshot[], service: string): string[] {
  const ips = world.flatMap(({ imports }) => imports[service]?.ips ?? []);
  const endpoints = world
    .flatMap(({ exports }) => Object.values(exports[service]!.endpoints))
    .flatMap(({ members }) => Object.values(members).map(({ address }) => address));
  return [...new Set(ips.length > 0 ? ips : endpoints)].sort();
}
