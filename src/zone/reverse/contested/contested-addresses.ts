import { ClaimOrders } from "../claim-orders.ts";
import { type AddressKey, serviceOf } from "../reverse-order.ts";

/** The addresses whose order is known, by the services that have a claim in it. */
export class ContestedAddresses {
  readonly #byService = new Map<string, Set<AddressKey>>();
  #orders = ClaimOrders.none;

  /** Takes over other orders: costs what changed in them. */
  follow(orders: ClaimOrders): void {
    for (const address of orders.changedSince(this.#orders)) {
      for (const claim of this.#orders.get(address) ?? []) this.#remove(serviceOf(claim), address);
      for (const claim of orders.get(address) ?? []) this.#add(serviceOf(claim), address);
    }
    this.#orders = orders;
  }

  /** @param service `<namespace>/<name>` */
  of(service: string): Iterable<AddressKey> {
    return this.#byService.get(service) ?? [];
  }

  #add(service: string, address: AddressKey): void {
    const addresses = this.#byService.get(service) ?? new Set();
    this.#byService.set(service, addresses);
    addresses.add(address);
  }

  #remove(service: string, address: AddressKey): void {
    const addresses = this.#byService.get(service);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#byService.delete(service);
  }
}
