import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startWorkerServer } from "../../src/hosts/node/worker/worker-server.ts";
import type { WorkerStatus } from "../../src/worker/sync.ts";

const [ONE, OTHER] = ["https://one.example", "https://other.example"];
const lost = (leaseSeconds: number | undefined, gateway = OTHER) => ({
  gateway,
  leaseSeconds,
  requests: new Map<string, number>(),
});
const requests = new Map(Object.entries({ "PUT 200": 1, "POST none": 3 }));
const HEALTHY: WorkerStatus = {
  complete: true,
  confirmedSeconds: 12,
  report: {},
  gateways: [{ gateway: ONE, leaseSeconds: 42, requests }, lost(41)],
};

async function open(status: Partial<WorkerStatus> = {}) {
  const server = await startWorkerServer({ host: "127.0.0.1", port: 0 }, () => ({ ...HEALTHY, ...status }));
  onTestFinished(() => server.close());
  return async (path: string, method = "GET") => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

const DEGRADED = { report: { degraded: [{ reason: "API_UNREACHABLE", seconds: 240 }] } };
const REJECTED = { ...lost(undefined, ONE), failure: "OTHER_INSTANCE" };
const UNREAD = { complete: false, confirmedSeconds: undefined, gateways: [lost(undefined, ONE)] };
const BOTH = "gateways answer for this cluster";
const NONE = "not ready: 0 of 1 gateway answers for this cluster";

it.each<[string, Partial<WorkerStatus>, string]>([
  ["with a lease at every gateway", {}, `ready: 2 of 2 ${BOTH}`],
  ["with one lease", { gateways: [lost(42, ONE), lost(-3)] }, `ready: 1 of 2 ${BOTH}; ${OTHER}: no lease`],
  ["that a gateway rejects", { gateways: [REJECTED] }, `${NONE}; ${ONE}: no lease (OTHER_INSTANCE)`],
  ["with a degraded source", DEGRADED, `ready: 2 of 2 ${BOTH}; API server unreachable for 4 min`],
  ["before the first acknowledgement", UNREAD, `${NONE}; the cluster is not read yet; ${ONE}: no lease`],
  ["after its lease expired", { gateways: [lost(0, ONE)] }, `${NONE}; ${ONE}: no lease`],
])("/readyz of a worker %s", async (_, status, text) => {
  const get = await open(status);
  expect(await get("/readyz")).toMatchObject({
    status: text.startsWith("ready") ? 200 : 503,
    text: `${text}\n`,
  });
  expect((await get("/healthz")).status).toBe(200);
});

it("/metrics has leases, requests and what is wrong; a source that was never read has no age", async () => {
  const degraded = [
    { reason: "RBAC_FORBIDDEN", seconds: 7, subject: "services" },
    { reason: "INTERNAL", seconds: 9 },
  ];
  const { text, headers } = await (await open({ report: { degraded } }))("/metrics");
  expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  for (const line of [
    "clusterset_doh_worker_ready 1",
    'clusterset_doh_worker_degraded_seconds{reason="RBAC_FORBIDDEN"} 7',
    'clusterset_doh_worker_degraded_seconds{reason="other"} 9',
    "clusterset_doh_worker_source_age_seconds 12",
    `clusterset_doh_worker_lease_remaining_seconds{gateway="${ONE}"} 42`,
    `clusterset_doh_worker_requests_total{gateway="${ONE}",method="PUT",status="200"} 1`,
    `clusterset_doh_worker_requests_total{gateway="${ONE}",method="POST",status="none"} 3`,
  ])
    expect(text.split("\n")).toContain(line);
  const unread = await (await open({ confirmedSeconds: undefined, gateways: [lost(undefined)] }))("/metrics");
  expect(unread.text).toContain("clusterset_doh_worker_ready 0");
  expect(unread.text).not.toMatch(/^clusterset_doh_worker_(?:source_age|lease_remaining)_seconds/m);
});

it("nothing else is served", async () => {
  const get = await open();
  for (const path of ["/", "/status", "/readyz/", "/metrics/x"]) expect((await get(path)).status).toBe(404);
  expect(await get("/readyz?verbose", "HEAD")).toMatchObject({ status: 200, text: "" });
  for (const method of ["POST", "PUT", "DELETE"]) {
    const { status, headers } = await get("/metrics", method);
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  }
});

it("a port that is taken is a usage error that names the option", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  await expect(startWorkerServer({ host: "127.0.0.1", port }, () => HEALTHY)).rejects.toThrow(
    `127.0.0.1:${port} is taken: stop the program that listens there, or choose another --listen HOST:PORT`,
  );
  await new Promise((resolve) => taken.close(resolve));
});
