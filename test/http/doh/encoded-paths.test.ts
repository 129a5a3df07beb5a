import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainPath } from "../../../src/http/messages/message.ts";

describe("a percent-encoded path (RFC 3986 section 6.2.2.2)", () => {
  it("has its unreserved characters decoded once, and no others", () => {
    expect(plainPath("/dns%2Dquery%7E%2f%25%2D%c3%a4")).toBe("/dns-query~%2f%25-%c3%a4");
    expect(plainPath("/%252D")).toBe("/%252D");
    const character = fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(character, (one) => {
        const isUnreserved = /[A-Za-z0-9\-._~]/.test(one);
        const code = `%${one.charCodeAt(0).toString(16).padStart(2, "0")}`;
        expect(plainPath(code)).toBe(isUnreserved ? one : code);
      }),
      { numRuns: 500 },
    );
  });
});
