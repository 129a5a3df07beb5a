import type { GatewayClient } from "../../test/e2e/harness/gateway-client.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { PushingCluster } from "./pushing-cluster.ts";
import { emptyCluster, headlessExport, memberPatch } from "./wide-world.ts";

const NAMESPACE = "changing";
const KEY = `${NAMESPACE}/db`;

/** A cluster with one headless service, whose only endpoint gets another address with each change. */
export class ChangingCluster {
  static readonly id = "changing";
  static readonly query = encodeQuery("db.changing.svc.clusterset.local", "A");
  readonly #pushing: PushingCluster;
  #changes = 0;

  constructor(gateway: Pick<GatewayClient, "url" | "tokenFor"> & { readonly ca?: string }) {
    this.#pushing = new PushingCluster(gateway, ChangingCluster.id);
  }

  /** The address that was pushed last. */
  get address(): string {
    return `10.255.${this.#changes >> 8}.${this.#changes & 255}`;
  }

  async join(): Promise<void> {
    const { address } = this;
    const exports = { [KEY]: headlessExport({ [address]: { address } }) };
    await this.#pushing.replace({ ...emptyCluster(ChangingCluster.id, [NAMESPACE]), exports });
  }

  /** Pushes another address; resolves when that is acknowledged. */
  async change(): Promise<void> {
    const before = this.address;
    this.#changes = (this.#changes + 1) % 65_536;
    const { address } = this;
    const patch = memberPatch({ [before]: null, [address]: { address } });
    await this.#pushing.patch({ exports: { [KEY]: patch } });
  }

  close(): Promise<void> {
    return this.#pushing.close();
  }
}
