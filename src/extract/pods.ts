import { equalJson } from "../snapshot/json-value.ts";
import type { ExtractedState } from "./extracted-state.ts";
import { quote, readList, readMapping } from "./fields.ts";
import type { Report } from "./findings.ts";
import type { Pod } from "./objects.ts";

const ENDED = new Set<unknown>(["Succeeded", "Failed", "Unknown"]);

/**
 * The addresses that verify a pod's names. As in CoreDNS, a pod that has ended, is lost or is being
 * deleted has none; a pod on the host network has its node's.
 */
export function readPodAddresses(report: Report, { metadata, status }: Pod): string[] {
  if (metadata?.deletionTimestamp || ENDED.has(status?.phase)) return [];
  const several = readList(status?.podIPs).map((element) => readMapping(element).ip);
  const given = several.length > 0 ? several : [status?.podIP];
  const addresses = given.flatMap((address) => {
    if (address === undefined || address === null || address === "") return [];
    if (typeof address === "string" && /^[0-9A-Fa-f.:]{2,45}$/.test(address)) return [address];
    report("InvalidPodAddress", `status.podIPs holds ${quote(address)}; it is left out`);
    return [];
  });
  return [...new Set(addresses)];
}

/** The addresses of a cluster's pods as `<namespace>/<address>`, in namespaces that exist. */
export class PodAddresses {
  readonly #state: ExtractedState;
  /** By namespace, then by pod. */
  readonly #addresses = new Map<string, Map<string, readonly string[]>>();
  /** The number of pods per address: on the host network they share their node's. */
  readonly #holders = new Map<string, number>();
  readonly #namespaceExists: (namespace: string) => boolean;

  /** @param state gets the addresses as its pods */
  constructor(state: ExtractedState, namespaceExists: (namespace: string) => boolean) {
    this.#state = state;
    this.#namespaceExists = namespaceExists;
  }

  /** Sets a pod's current addresses; none for a deleted pod. */
  set(namespace: string, name: string, addresses: readonly string[]): void {
    const pods = this.#addresses.get(namespace) ?? new Map<string, readonly string[]>();
    const before = pods.get(name) ?? [];
    if (equalJson(before, addresses)) return;
    const counts = this.#namespaceExists(namespace);
    if (counts) this.#count(namespace, before, -1);
    if (addresses.length === 0) pods.delete(name);
    else pods.set(name, addresses);
    if (pods.size === 0) this.#addresses.delete(namespace);
    else this.#addresses.set(namespace, pods);
    if (counts) this.#count(namespace, addresses, 1);
  }

  /** A namespace was created or deleted: pods outside existing namespaces are leftovers. */
  setNamespace(namespace: string, exists: boolean): void {
    for (const addresses of this.#addresses.get(namespace)?.values() ?? [])
      this.#count(namespace, addresses, exists ? 1 : -1);
  }

  #count(namespace: string, addresses: readonly string[], change: 1 | -1): void {
    for (const address of addresses) {
      const key = `${namespace}/${address}`;
      const holders = (this.#holders.get(key) ?? 0) + change;
      if (holders === 0) this.#holders.delete(key);
      else this.#holders.set(key, holders);
      if (holders === 0) this.#state.set("pods", key, undefined);
      else if (change === 1 && holders === 1) this.#state.set("pods", key, {});
    }
  }
}
