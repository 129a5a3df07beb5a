import { describe, expect, test } from "vitest";
import { DynamicTable, encodeField, HpackDecoder, HpackError } from "../../../../src/http2/hpack.ts";

const decoder = (headerBytes = 1000, headerFields = 100) => new HpackDecoder({ headerBytes, headerFields });
const decode = (one: HpackDecoder, hex: string) => {
  const block = Buffer.from(hex.replaceAll(" ", ""), "hex");
  return one.decode(block, 0, block.length);
};

describe("a block", () => {
  test("beyond the limits has no fields, and the next one has the table that it left", () => {
    const one = decoder(20);
    expect(decode(one, "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572")).toMatchObject({
      fields: undefined,
      exceeds: "bytes",
    });
    expect(decode(decoder(1000, 1), "8286")).toMatchObject({ fields: undefined, exceeds: "fields" });
    expect(decode(one, "7e 01 61").fields).toEqual(["custom-key", "a"]);
  });

  test("with a field that HTTP/2 does not allow says so, also when the field comes from the table", () => {
    const one = decoder();
    expect(decode(one, "40 01 41 01 61").malformed).toMatch(/name/);
    expect(decode(one, "be").malformed).toMatch(/name/);
    expect(decode(one, "82").malformed).toBeUndefined();
  });

  test.each([
    ["EOS in a string (5.2)", "00 84 ff ff ff ff 01 61"],
    ["padding with a zero (5.2)", "00 81 1e 01 61"],
    ["an entry after the last one (2.3.3)", "be"],
    ["an index of 2^28 (5.1)", "ff 80 ff ff ff 7f"],
    ["a literal without a value (6.2)", "00 01 61"],
  ])("with %s is an error of the connection", (_, hex) => {
    expect(() => decode(decoder(), hex)).toThrow(HpackError);
  });
});

describe("the dynamic table (RFC 7541 section 4)", () => {
  test("evicts the oldest entries, and is emptied by one that is larger than it", () => {
    const table = new DynamicTable(100);
    table.add("a", "1", true);
    table.add("b", "2", true);
    table.add("c", "3", true);
    expect([table.length, table.size, table.name(0), table.name(1)]).toEqual([2, 68, "c", "b"]);
    table.resize(34);
    expect([table.length, table.name(0)]).toEqual([1, "c"]);
    table.add("d".repeat(50), "", true);
    expect([table.length, table.size]).toEqual([0, 0]);
  });

  test("keeps the newest entries over thousands of additions", () => {
    const table = new DynamicTable(4096);
    for (let index = 0; index < 5000; index++) {
      table.add("n", String(index), true);
      expect(table.value(0)).toBe(String(index));
      if (index >= 50) expect(table.value(50)).toBe(String(index - 50));
    }
    expect(table.size).toBeLessThanOrEqual(4096);
  });
});

test.each<[name: string, value: string]>([
  [":status", "200"],
  [":status", "421"],
  ["content-type", "application/dns-message"],
  ["x-own", "é".repeat(10)],
  ["x-long", "a".repeat(300)],
])("the field %s is decoded as it was encoded", (name, value) => {
  const block = encodeField(name, value);
  expect(decoder().decode(block, 0, block.length).fields).toEqual([name, value]);
});
