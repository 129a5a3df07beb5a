import { expect } from "vitest";
import { ClusterResponse } from "../../../src/http/openapi/schemas.ts";
import { endpoints, exported, port, snapshot } from "../../merge/fixtures.ts";
import { snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { credentialsOf, type HostSettings } from "../host-under-test.ts";
import { acknowledged, type PushApi } from "../push-client.ts";

const FENCED = { clusterId: "fenced", token: "fenced-token" };

/** The settings that pin what the cluster "fenced" may export, and what it owns. */
export const pinSettings = {
  credentials: credentialsOf([FENCED]).map((one) => ({ ...one, exports: ["allowed", "team-*/api"] })),
  services: [{ service: "allowed/*", owner: FENCED.clusterId }],
} satisfies { credentials: unknown; services: HostSettings["services"] };

const snapshotOf = (clusterId: string, exportedAt: string, number: number, keys: string[]) => {
  // No other scenario has these addresses: a reverse name stays with the cluster that had it first.
  const members = endpoints({ address: `10.77.0.${number}` });
  const one = exported({ exportedAt, ports: [port("http", number)], endpoints: members });
  return snapshot(clusterId, {
    namespaces: Object.fromEntries(keys.map((key) => [key.split("/")[0]!, {}])),
    exports: Object.fromEntries(keys.map((key) => [key, one])),
  });
};

/** What the operator pins holds on every host: docs/reference/push-api.md, What a cluster may export. */
export async function expectPins({ send, put }: PushApi): Promise<void> {
  const { token } = FENCED;
  const status = async (clusterId: string, own: string) =>
    ClusterResponse.parse(await (await send("GET", clusterId, { token: own })).json());
  await acknowledged(put(snapshotOf("west", "2024-01-01T00:00:00Z", 81, ["allowed/web"])));
  const keys = ["allowed/web", "shop/web", "team-a/api", "team-a/db"];
  const young = snapshotOf("fenced", "2025-01-01T00:00:00Z", 82, keys);
  await acknowledged(send("PUT", "fenced/snapshot", { token, body: snapshotBody(young) }));
  const { findings, conflicts } = await status("fenced", token);
  const refused = { clusterId: "fenced", reason: "ExportNotAllowed", kind: "ServiceExport" };
  expect(findings).toMatchObject([
    { ...refused, namespace: "shop", name: "web" },
    { ...refused, namespace: "team-a", name: "db" },
  ]);
  expect(conflicts).toMatchObject([{ namespace: "allowed", winner: "fenced", disagree: ["west"] }]);
  expect((await send("DELETE", "fenced", { token })).status).toBe(204);
  expect((await status("west", "west-token")).findings).toMatchObject([
    { clusterId: "west", reason: "OwnerNotExporting", namespace: "allowed", name: "web" },
  ]);
  await send("DELETE", "west");
}
