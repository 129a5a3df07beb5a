import type { AddressRecord } from "../address-record.ts";

/** Addresses to be decided again, each once. A list: a set of 360,000 takes the thread for 40 ms when it grows. */
export class UndecidedAddresses {
  #records: AddressRecord[] = [];

  add(record: AddressRecord): void {
    if (record.isUndecided) return;
    record.isUndecided = true;
    this.#records.push(record);
  }

  /** Takes all out, in the order in which they came. */
  *take(): Generator<AddressRecord> {
    const taken = this.#records;
    this.#records = [];
    for (const record of taken) {
      record.isUndecided = false;
      yield record;
    }
  }
}
