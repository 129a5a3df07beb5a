import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { resolve } from "node:path";
import type { KubernetesObject } from "../extract/objects.ts";

/** What gateways take as the name of an instance. */
export const INSTANCE_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The name of a cluster: the same for every worker that reads it, wherever and whenever it runs. It comes from the UID of the namespace
 * kube-system (KEP-2149), or, where that is not to be seen, from that of the Service default/kubernetes.
 */
export class ClusterInstance {
  #kubeSystem: string | undefined;
  #kubernetes: string | undefined;

  /** Looks at an object that the worker reads. */
  see({ kind, metadata }: KubernetesObject): void {
    const { name, namespace, uid } = metadata ?? {};
    if (typeof uid !== "string") return;
    if (kind === "Namespace" && name === "kube-system") this.#kubeSystem = uid;
    else if (kind === "Service" && namespace === "default" && name === "kubernetes") this.#kubernetes = uid;
  }

  /** Undefined before one of the two objects was seen. */
  get name(): string | undefined {
    if (this.#kubeSystem !== undefined) return hashed("kube-system", this.#kubeSystem);
    return this.#kubernetes === undefined ? undefined : hashed("kubernetes", this.#kubernetes);
  }
}

/** The name of a folder of manifests on this host. */
export function folderInstance(directory: string): string {
  return hashed(hostname(), resolve(directory));
}

/** Hashed, since a gateway need not know what it is. */
function hashed(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 22);
}
