import { ClaimOrders } from "../claim-orders.ts";
import { type AddressKey, serviceOf } from "../reverse-order.ts";

/** Addresses of one step. */
const ADDRESSES_IN_STEP = 200;

/** The addresses whose order is known, by the services that have a claim in it. */
export class ContestedAddresses {
  readonly #byService = new Map<string, Set<AddressKey>>();
  #orders = ClaimOrders.none;

  /** Takes over other orders, in steps: costs what changed in them. */
  *follow(orders: ClaimOrders): Generator<void> {
    let count = 0;
    for (const address of orders.changedSince(this.#orders)) {
      for (const claim of this.#orders.get(address) ?? []) this.#remove(serviceOf(claim), address);
      for (const claim of orders.get(address) ?? []) this.#add(serviceOf(claim), address);
      if (++count % ADDRESSES_IN_STEP === 0) yield;
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
