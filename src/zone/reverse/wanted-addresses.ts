import { type AddressId, addressId } from "./address-id.ts";
import type { ReverseCandidate } from "./reverse-candidate.ts";

/** Units of text that are made in one call. */
const UNITS_IN_CALL = 4096;
const UNITS_OF_V6 = 8;

/**
 * Immutable addresses in little memory: as text, 4 bytes for one of IPv4 and 16 of IPv6. A typed array takes 200 bytes more for each list, which is
 * twice as much as the addresses of most services.
 */
export class AddressList {
  static readonly none = new AddressList("", "");
  readonly #v4: string;
  readonly #v6: string;

  private constructor(v4: string, v6: string) {
    this.#v4 = v4;
    this.#v6 = v6;
  }

  static of(ids: Iterable<AddressId>): AddressList {
    const v4: number[] = [];
    const v6: string[] = [];
    for (const id of ids)
      if (typeof id === "number") v4.push(id >>> 16, id & 0xffff);
      else v6.push(id);
    if (v4.length === 0 && v6.length === 0) return AddressList.none;
    const texts: string[] = [];
    for (let at = 0; at < v4.length; at += UNITS_IN_CALL)
      texts.push(String.fromCharCode(...v4.slice(at, at + UNITS_IN_CALL)));
    return new AddressList(texts.join(""), v6.join(""));
  }

  *[Symbol.iterator](): Generator<AddressId> {
    const v4 = this.#v4;
    for (let at = 0; at < v4.length; at += 2) yield (v4.charCodeAt(at) << 16) | v4.charCodeAt(at + 1);
    const v6 = this.#v6;
    for (let at = 0; at < v6.length; at += UNITS_OF_V6) yield v6.slice(at, at + UNITS_OF_V6);
  }
}

/** The addresses whose reverse names one service wants, with its candidates for each. */
export class WantedAddresses {
  static readonly none = new WantedAddresses();
  readonly #candidates = new Map<AddressId, readonly ReverseCandidate[]>();

  add(bytes: Uint8Array, candidate: ReverseCandidate): void {
    const id = addressId(bytes);
    const others = this.#candidates.get(id);
    if (others === undefined) this.#candidates.set(id, [candidate]);
    else if (!others.some(({ source, label }) => source === candidate.source && label === candidate.label))
      this.#candidates.set(id, [...others, candidate]);
  }

  has(id: AddressId): boolean {
    return this.#candidates.has(id);
  }

  [Symbol.iterator](): Iterable<readonly [AddressId, readonly ReverseCandidate[]]> &
    Iterator<readonly [AddressId, readonly ReverseCandidate[]]> {
    return this.#candidates.entries();
  }

  /** All of them, to be kept until the service changes. */
  get list(): AddressList {
    return AddressList.of(this.#candidates.keys());
  }
}
