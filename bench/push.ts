import { gzipSync } from "node:zlib";
import type { ClusterSnapshot } from "../src/snapshot/schema.ts";
import type { GatewayClient } from "../test/e2e/gateway-client.ts";

/** A config file by which a push without a wish for its lease lives longer than any benchmark. */
export const LONG_LEASES = {
  lease: { minimumSeconds: 10, defaultSeconds: 3600, maximumSeconds: 3600 },
  logLevel: "warn",
};

/** Pushes a whole snapshot; resolves when the gateway answers from it. */
export async function pushSnapshot(
  gateway: Pick<GatewayClient, "http" | "tokenFor">,
  snapshot: ClusterSnapshot,
): Promise<void> {
  const { clusterId } = snapshot;
  const { status, text } = await gateway.http(`/api/v1/clusters/${clusterId}/snapshot`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
      "content-type": "application/json",
      "content-encoding": "gzip",
    },
    body: gzipSync(JSON.stringify(snapshot)),
  });
  if (status !== 200) throw new Error(`the push of ${clusterId} was refused: ${status} ${text}`);
}
