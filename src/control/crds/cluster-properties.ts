import { CLUSTER_ID_PROPERTY } from "../../extract/cluster-identity.ts";
import { ABOUT_GROUP } from "../../extract/identity.ts";
import type { KubernetesObject } from "../../extract/objects.ts";
import { isManaged, type ManagedObject, mark } from "../objects/wanted-object.ts";
import type { Writes } from "../reconcile/reconcile-service.ts";

/** The ClusterProperty that names the clusterset (KEP-2149). */
const CLUSTERSET_PROPERTY = "clusterset.k8s.io";

/** The ClusterProperties that say which cluster of which clusterset this is (KEP-2149), for clusters whose operator wants them written. */
export class ClusterProperties {
  /** The key under which they are worked on: no service has one without a slash. */
  static readonly KEY = "clusterproperties";
  readonly #values: ReadonlyMap<string, string>;
  readonly #held = new Map<string, ManagedObject>();
  readonly #touched: () => void;

  constructor(clusterId: string, clusterset: string, touched: () => void) {
    this.#values = new Map([
      [CLUSTER_ID_PROPERTY, clusterId],
      [CLUSTERSET_PROPERTY, clusterset],
    ]);
    this.#touched = touched;
  }

  /** Takes an object from a watch. */
  upsert(object: KubernetesObject): void {
    const property = object as unknown as ManagedObject;
    if (!this.#values.has(property.metadata.name)) return;
    this.#held.set(property.metadata.name, property);
    this.#touched();
  }

  delete(object: KubernetesObject): void {
    if (this.#held.delete(String(object.metadata?.name))) this.#touched();
  }

  /** Writes those that are missing or ours with another value. Somebody else's stays, even with another value. @throws {WriteError} */
  async reconcile(version: string, writes: Pick<Writes, "apply" | "read" | "foreign">): Promise<void> {
    for (const [name, value] of this.#values) {
      const wanted = mark({
        apiVersion: `${ABOUT_GROUP}/${version}`,
        kind: "ClusterProperty",
        metadata: { namespace: "", name },
        spec: { value },
      });
      const held = this.#held.get(name) ?? (await writes.read(wanted));
      const { value: now } = (held?.spec ?? {}) as { readonly value?: unknown };
      if (held !== undefined && now === value) continue;
      if (held !== undefined && !isManaged(held)) writes.foreign(held);
      else this.#held.set(name, await writes.apply(wanted));
    }
  }
}
