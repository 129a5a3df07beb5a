import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AddressId,
  addressId,
  bytesOfId,
  hashOfId,
  idOfKey,
  keyOfId,
} from "../../../src/zone/reverse/address-id.ts";
import { AddressTable } from "../../../src/zone/reverse/address-table.ts";
import { addressKey } from "../../../src/zone/reverse/reverse-order.ts";
import { AddressList } from "../../../src/zone/reverse/wanted-addresses.ts";
import { reverseHash } from "../../../src/zone/segment/name-hash.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const anyAddress = fc.oneof(bytes(4), bytes(16));

describe("an address", () => {
  it("has an id from which its bytes, its key and its hash are read", () => {
    fc.assert(
      fc.property(anyAddress, (given) => {
        const id = addressId(given);
        expect(bytesOfId(id)).toEqual(given);
        expect(keyOfId(id)).toBe(addressKey(given));
        expect(idOfKey(addressKey(given))).toBe(id);
        expect(hashOfId(id)).toBe(reverseHash(given, given.length));
      }),
    );
  });

  it("is kept in a list, also of IPv6 alone", () => {
    const v6 = addressId(Uint8Array.of(0xfd, ...new Array(14).fill(0), 1));
    expect([...AddressList.of([v6])]).toEqual([v6]);
    expect([...AddressList.of([7, v6, -1])]).toEqual([7, -1, v6]);
    expect(AddressList.of([])).toBe(AddressList.none);
  });

  it("is kept in a list, however long that is", () => {
    const many = Array.from({ length: 10_000 }, (_, index) =>
      addressId(Uint8Array.of(10, 0, index >> 8, index)),
    );
    expect([...AddressList.of(many)]).toEqual(many);
    fc.assert(
      fc.property(fc.array(anyAddress), (given) => {
        const keys = given.map(addressKey).sort();
        expect(Array.from(AddressList.of(given.map(addressId)), keyOfId).sort()).toEqual(keys);
      }),
    );
  });
});

describe("the hash that selects the segment of a reverse name", () => {
  const lowest = (hash: number) => hash & 0xfff;
  const neighbours = (given: Uint8Array) =>
    Array.from({ length: 64 }, (_, index) => {
      const own = given.slice();
      own[own.length - 1] = (given.at(-1)! & 0xc0) | index;
      return reverseHash(own, own.length);
    });

  it("has the same lowest bits for 64 neighbours, and others above them, so that they can still be divided", () => {
    fc.assert(
      fc.property(anyAddress, (given) => {
        const hashes = neighbours(given);
        expect(new Set(hashes.map(lowest))).toEqual(new Set([lowest(reverseHash(given, given.length))]));
        expect(new Set(hashes.map((hash) => (hash >>> 12) & 0xf)).size).toBeGreaterThan(3);
      }),
    );
  });

  it.each([
    ["of networks that follow each other", (index: number) => [10, index >> 10, index >> 2, index << 6]],
    ["of the first pods of many nodes", (index: number) => [10, index >> 8, index, 2]],
    ["of the first node of many clusters", (index: number) => [index >> 8, index, 0, 2]],
  ])("spreads addresses %s over all segments", (_, addressOf) => {
    const found = new Set<number>();
    for (let index = 0; index < 16_384; index++)
      found.add(lowest(reverseHash(Uint8Array.from(addressOf(index)), 4)));
    // Of 4,096; numbers drawn by lot would find 4,021.
    expect(found.size).toBeGreaterThan(3900);
  });
});

describe.each([4, 16] as const)("a table of addresses of %d bytes", (length) => {
  /** Few, so that they are often added again and removed. */
  const address = fc.integer({ min: 0, max: 60 }).map((number) => {
    const own = new Uint8Array(length).fill(number * 37);
    own[length - 1] = number;
    return addressId(own);
  });
  const step = fc.record({ do: fc.constantFrom("put", "put", "remove", "trim"), address });

  it("has 100 addresses in order, then those that are not removed", () => {
    const table = new AddressTable<number>(length === 4 ? 1 : 4);
    const idOf = (number: number) => {
      const own = new Uint8Array(length).fill(number, 0, length - 1);
      own[length - 1] = 255 - number;
      return addressId(own);
    };
    const put = (number: number) => table.insert(-1 - table.find(idOf(number)), idOf(number), number);
    const expectHeld = (...numbers: readonly number[]) => {
      expect(table.values).toEqual(numbers);
      expect(table.size).toBe(numbers.length);
      for (const [index, number] of numbers.entries()) {
        expect(table.idAt(index)).toBe(idOf(number));
        expect(table.find(idOf(number))).toBe(index);
        const first =
          length === 4
            ? (number << 24) | (number << 16) | (number << 8) | (255 - number)
            : number * 0x1010101;
        expect(table.firstWordAt(index)).toBe(first >>> 0);
      }
    };
    const numbers = Array.from({ length: 100 }, (_, index) => index * 2);
    // Every third one first, so that addresses are inserted at the end, between others and in front.
    for (const start of [1, 0, 2]) for (let at = start; at < 100; at += 3) put(numbers[at]!);
    expectHeld(...numbers);
    for (const number of numbers.filter((_, index) => index % 4 !== 1))
      table.remove(table.find(idOf(number)));
    expectHeld(...numbers.filter((_, index) => index % 4 === 1));
    table.trim();
    put(1);
    put(255);
    expectHeld(1, ...numbers.filter((_, index) => index % 4 === 1), 255);
  });

  it("has what was put in and not removed, by ascending address", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const table = new AddressTable<number>(length === 4 ? 1 : 4);
        const model = new Map<AddressId, number>();
        for (const [value, { do: what, address: id }] of steps.entries()) {
          const index = table.find(id);
          expect(index >= 0).toBe(model.has(id));
          if (what === "put" && index >= 0) table.values[index] = value;
          if (what === "put" && index < 0) table.insert(-1 - index, id, value);
          if (what === "put") model.set(id, value);
          if (what === "remove" && index >= 0) table.remove(index);
          if (what === "remove") model.delete(id);
          if (what === "trim") table.trim();
        }
        const held = table.values.map((value, index) => [keyOfId(table.idAt(index)), value] as const);
        const expected = Array.from(model, ([id, value]) => [keyOfId(id), value] as const);
        expect(held).toEqual(expected.sort(([one], [other]) => (one < other ? -1 : 1)));
      }),
    );
  });
});
