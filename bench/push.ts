import { gzipSync } from "node:zlib";
import type { ClusterSnapshot } from "../src/snapshot/schema.ts";
import type { GatewayClient } from "../test/e2e/harness/gateway-client.ts";
import { LINES_TYPE, snapshotBody } from "../test/snapshot/lines/push-lines.ts";

type Pushed = Pick<GatewayClient, "http" | "tokenFor">;

/** A config file by which a push without a wish for its lease lives longer than any benchmark. */
export const LONG_LEASES = {
  lease: { minimumSeconds: 10, defaultSeconds: 3600, maximumSeconds: 3600 },
  logLevel: "warn",
};

/** Pushes a whole snapshot; resolves when the gateway answers from it. */
export function pushSnapshot(gateway: Pushed, snapshot: ClusterSnapshot): Promise<void> {
  return preparePush(gateway, snapshot)();
}

/** What pushes a whole snapshot, which is lines in gzip by then. */
export function preparePush(gateway: Pushed, snapshot: ClusterSnapshot): () => Promise<void> {
  const { clusterId } = snapshot;
  const headers = {
    authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
    "content-type": LINES_TYPE,
    "content-encoding": "gzip",
  };
  const body = gzipSync(snapshotBody(snapshot));
  return async () => {
    const path = `/api/v1/clusters/${clusterId}/snapshot`;
    const { status, text } = await gateway.http(path, { method: "PUT", headers, body });
    if (status !== 200) throw new Error(`the push of ${clusterId} was refused: ${status} ${text}`);
  };
}
