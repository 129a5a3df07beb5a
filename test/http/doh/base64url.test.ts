import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64urlLength, decodeBase64url } from "../../../src/http/messages/message.ts";

const decode = (text: string): number[] | undefined => {
  const target = new Uint8Array(text.length + 3);
  const size = decodeBase64url(text, target);
  return size < 0 ? undefined : [...target.subarray(0, size)];
};

describe("base64url (RFC 4648 section 5)", () => {
  it("decodes Node's encoding, with and without padding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64url");
        expect(text.length).toBe(base64urlLength(bytes.length));
        expect(decode(text)).toEqual([...bytes]);
        const padded = text + "=".repeat((4 - (text.length % 4)) % 4);
        expect(decode(padded)).toEqual([...bytes]);
      }),
    );
  });

  it("rejects characters outside the alphabet", () => {
    const stranger = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.base64String(), stranger, fc.nat(), (text, character, at) => {
        fc.pre(!/[-\w=]/.test(character));
        const clean = text.replace(/[+/=]/g, "A");
        const position = at % (clean.length + 1);
        expect(decode(clean.slice(0, position) + character + clean.slice(position))).toBeUndefined();
      }),
    );
  });

  it("rejects a character outside ASCII at the end of a text of any length", () => {
    for (let length = 4; length < 6000; length += 4)
      for (const stranger of ["\u00e9", "\u20ac", "\ud800"])
        for (const text of ["A".repeat(length - 1) + stranger, "A".repeat(length)])
          expect(decode(text) === undefined).toBe(text.endsWith(stranger));
  });

  it.each([
    ["a", "one character is no byte"],
    ["AAAAA", "neither are five"],
    ["AA=", "one = where two belong"],
    ["AAA==", "two = where one belongs"],
    ["=", "padding alone"],
    ["====", "padding alone"],
  ])("rejects %j: %s", (text) => {
    expect(decode(text)).toBeUndefined();
  });
});
