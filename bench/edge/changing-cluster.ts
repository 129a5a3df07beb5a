import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import type { GatewayClient } from "../../test/e2e/gateway-client.ts";
import { pushed } from "../../test/snapshot/lines/push-lines.ts";
import { pushSnapshot } from "../push.ts";
import { encodeQuery } from "../resolve/cases.ts";

const KEY = "changing/db";
const PORTS = "pg/TCP/5432";

/** A cluster with one headless service, whose only endpoint gets another address with each change. */
export class ChangingCluster {
  static readonly id = "changing";
  static readonly query = encodeQuery("db.changing.svc.clusterset.local", "A");
  readonly #client: GatewayClient;
  #generation = 0;
  #changes = 0;

  constructor(client: GatewayClient) {
    this.#client = client;
  }

  /** The address that was pushed last. */
  get address(): string {
    return `10.99.${this.#changes >> 8}.${this.#changes & 255}`;
  }

  async join(): Promise<void> {
    await pushSnapshot(this.#client, snapshotWith(this.address));
    const { generation } = await this.#client.clusterStatus<{ generation: number }>(ChangingCluster.id);
    this.#generation = generation;
  }

  /** Pushes another address; resolves when that is acknowledged. */
  async change(): Promise<void> {
    const before = this.address;
    this.#changes++;
    const members = { [before]: null, [this.address]: { address: this.address } };
    const { status, text, json } = await this.#client.http(
      ...pushed(
        "PATCH",
        `/api/v1/clusters/${ChangingCluster.id}/snapshot`,
        {
          baseGeneration: this.#generation,
          patch: { exports: { [KEY]: { endpoints: { [PORTS]: { members } } } } },
        },
        { authorization: `Bearer ${this.#client.tokenFor(ChangingCluster.id)}` },
      ),
    );
    if (status !== 200) throw new Error(`the change was refused: ${status} ${text}`);
    this.#generation = json<{ generation: number }>().generation;
  }
}

function snapshotWith(address: string): ClusterSnapshot {
  const pg = (port: number) => [{ name: "pg", protocol: "TCP", port }];
  const endpoints = { [PORTS]: { ports: pg(5432), members: { [address]: { address } } } };
  return {
    formatVersion: 1,
    clusterId: ChangingCluster.id,
    namespaces: { changing: {} },
    exports: {
      [KEY]: {
        exportedAt: "2026-01-01T00:00:00Z",
        serviceType: "ClusterIP",
        headless: true,
        ports: pg(5432),
        endpoints,
      },
    },
    imports: {},
    services: {},
    pods: {},
    findings: {},
  };
}
