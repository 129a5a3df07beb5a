import type { ExtractedState } from "./extracted-state.ts";
import { quote, readList, readMapping, setOrDelete } from "./fields.ts";
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

/** The addresses of a cluster's pods as `<namespace>/<address>`. */
export class PodAddresses {
  readonly #state: ExtractedState;
  /** By `<namespace>/<pod>`. */
  readonly #addresses = new Map<string, readonly string[]>();
  /** The number of pods per address: on the host network they share their node's. */
  readonly #holders = new Map<string, number>();

  /** @param state gets the addresses as its pods */
  constructor(state: ExtractedState) {
    this.#state = state;
  }

  /** Sets a pod's current addresses; none for a deleted pod. */
  set(namespace: string, name: string, addresses: readonly string[]): void {
    const pod = `${namespace}/${name}`;
    const before = this.#addresses.get(pod) ?? [];
    setOrDelete(this.#addresses, pod, addresses.length === 0 ? undefined : addresses);
    // In this order, so that an address that stays never goes.
    this.#count(namespace, addresses, 1);
    this.#count(namespace, before, -1);
  }

  #count(namespace: string, addresses: readonly string[], change: 1 | -1): void {
    for (const address of addresses) {
      const key = `${namespace}/${address}`;
      const holders = (this.#holders.get(key) ?? 0) + change || undefined;
      setOrDelete(this.#holders, key, holders);
      this.#state.set("pods", key, holders === undefined ? undefined : {});
    }
  }
}
