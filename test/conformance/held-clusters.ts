import { isDeepStrictEqual } from "node:util";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { waitFor } from "../e2e/servers/wait.ts";
import { endpoints, exported } from "../merge/fixtures.ts";
import { snapshotBody } from "../snapshot/lines/push-lines.ts";
import { addressesOf } from "./doh-client.ts";
import type { Fetch } from "./http-case.ts";
import { acknowledged, pushApi } from "./push-client.ts";

const NAMESPACE = "conformance";
const LEASE_SECONDS = 3600;

/** What a host holds. It may answer from a copy that is seconds behind, so each change is waited for. */
export class HeldClusters {
  readonly #fetch: Fetch;
  readonly #tokens: ReadonlyMap<string, string>;
  #held: readonly string[] = [];
  #changes = 0;

  constructor(fetch: Fetch, tokens: readonly { readonly clusterId: string; readonly token: string }[]) {
    this.#fetch = fetch;
    this.#tokens = new Map(tokens.map(({ clusterId, token }) => [clusterId, token]));
  }

  /** Lets every other cluster leave, pushes these, and waits until they are answered from. */
  async hold(snapshots: readonly ClusterSnapshot[]): Promise<void> {
    const before = this.#mark;
    await this.replace(snapshots, LEASE_SECONDS);
    const addresses = snapshots.map((_, index) => addressOfMark(index));
    if (snapshots.length === 0) await this.#untilAddresses(before, undefined);
    else await this.#untilAddresses(this.#mark, addresses);
  }

  /** The same without waiting, for leases that may be over before a copy knows of them. */
  async replace(snapshots: readonly ClusterSnapshot[], leaseSeconds: number): Promise<void> {
    const staying = new Set(snapshots.map(({ clusterId }) => clusterId));
    for (const clusterId of this.#held) if (!staying.has(clusterId)) await this.#leave(clusterId);
    this.#held = [...staying];
    this.#changes++;
    for (const [index, snapshot] of snapshots.entries())
      await this.#push(this.#marked(snapshot, addressOfMark(index)), leaseSeconds);
  }

  /** A name that only the newest change has. */
  get #mark(): string {
    return `mark-${this.#changes}`;
  }

  #marked(snapshot: ClusterSnapshot, address: string): ClusterSnapshot {
    const mark = exported({ endpoints: endpoints({ address }) });
    return {
      ...snapshot,
      namespaces: { ...snapshot.namespaces, [NAMESPACE]: {} },
      exports: { ...snapshot.exports, [`${NAMESPACE}/${this.#mark}`]: mark },
    };
  }

  async #push(snapshot: ClusterSnapshot, leaseSeconds: number): Promise<void> {
    const { clusterId } = snapshot;
    const path = `${clusterId}/snapshot?leaseSeconds=${leaseSeconds}`;
    const token = this.#tokens.get(clusterId)!;
    await acknowledged(pushApi(this.#fetch).send("PUT", path, { token, body: snapshotBody(snapshot) }));
  }

  async #leave(clusterId: string): Promise<void> {
    const token = this.#tokens.get(clusterId)!;
    const { status } = await pushApi(this.#fetch).send("DELETE", clusterId, { token });
    if (status !== 204) throw new Error(`${clusterId} may not leave: ${status}`);
  }

  async #untilAddresses(mark: string, expected: readonly string[] | undefined): Promise<void> {
    const name = `${mark}.${NAMESPACE}.svc.clusterset.local`;
    await waitFor(`${name} has ${expected}`, async () =>
      isDeepStrictEqual(await addressesOf(this.#fetch, name), expected),
    );
  }
}

function addressOfMark(index: number): string {
  return `192.0.2.${index + 1}`;
}
