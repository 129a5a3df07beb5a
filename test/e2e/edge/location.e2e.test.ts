import { afterAll, beforeAll, expect, it } from "vitest";
import { federationTable } from "../../conformance/cases/federation.ts";
import { startWorker, type WorkerProcess } from "./wrangler.ts";

const clusters = federationTable.snapshots.map(({ clusterId }) => clusterId);

let worker: WorkerProcess;
beforeAll(async () => {
  worker = await startWorker({
    clusters,
    config: {
      federations: [{ name: "myfederation" }],
      location: {
        source: "cf",
        // The location that workerd reports for every client of this machine.
        rules: [{ when: { country: ["us"], colo: ["dfw"] }, region: "eu", zone: "eu-2" }],
      },
    },
  });
  for (const snapshot of federationTable.snapshots) {
    const { clusterId } = snapshot;
    const { status, text } = await worker.http(`/api/v1/clusters/${clusterId}/snapshot`, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${worker.tokenFor(clusterId)}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(snapshot),
    });
    if (status !== 200) throw new Error(`${status} ${text}`);
  }
});
afterAll(() => worker.stop());

it("a Worker orders federation answers by Cloudflare's location of the client", async () => {
  const name = "myservice.myns.myfederation.svc.federation";
  const { headers, json } = await worker.http(`/resolve?name=${name}`);
  const { Answer, Comment } = json<{ Answer: { data: string }[]; Comment: string }>();
  expect(Answer.map(({ data }) => data)).toEqual([
    "108.120.45.12",
    "104.32.64.128",
    "198.51.100.9",
    "104.32.64.130",
  ]);
  expect(Comment).toContain("seen from outside, near eu-2 in eu (by location)");
  expect(headers["cache-control"]).toMatch(/^private, max-age=/);
});
