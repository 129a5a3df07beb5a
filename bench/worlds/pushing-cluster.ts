import type { SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { GatewayRequests } from "../../src/worker/gateway-requests.ts";
import type { GatewayClient } from "../../test/e2e/harness/gateway-client.ts";

/** In seconds: longer than any benchmark. */
const TERMS = { leaseSeconds: 3600, report: {} };

/** A cluster that pushes over the worker's own connection: a full snapshot, then changes. */
export class PushingCluster {
  readonly clusterId: string;
  readonly #requests: GatewayRequests;
  readonly #never = new AbortController().signal;
  #generation = 0;

  /** @param gateway `ca`: the PEM text to check its certificate against; needless without TLS */
  constructor(
    { url, ca, tokenFor }: Pick<GatewayClient, "url" | "tokenFor"> & { readonly ca?: string },
    clusterId: string,
  ) {
    this.clusterId = clusterId;
    const token = tokenFor(clusterId);
    this.#requests = new GatewayRequests({
      gateway: url,
      token,
      ...(ca !== undefined && { ca }),
    });
  }

  /** Resolves when the gateway answers from it, as all of these. */
  async replace(snapshot: ClusterSnapshot): Promise<void> {
    this.#generation = await this.#requests.replace(snapshot, TERMS, this.#never);
  }

  async patch(patch: SnapshotPatch): Promise<void> {
    const { clusterId } = this;
    this.#generation = await this.#requests.patch(clusterId, this.#generation, patch, TERMS, this.#never);
  }

  async leave(): Promise<void> {
    await this.#requests.leave(this.clusterId, this.#never);
  }

  close(): Promise<void> {
    return this.#requests.close();
  }
}
