import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bearerToken, readBasicCredentials } from "../../../src/access/secrets.ts";
import { isHostToken, isPathToken, readHostToken, readPathToken } from "../../../src/access/url-tokens.ts";

const basic = (text: string | Uint8Array) => `Basic ${Buffer.from(text).toString("base64")}`;

it.each([
  ["bearer   a.b-c_d~e+f/g==  ", "a.b-c_d~e+f/g=="],
  ["Bearer a b", undefined],
  ["Bearer a=b", undefined],
  ["Bearerabc", undefined],
])("the Authorization field %j has the bearer token %j (RFC 6750 section 2.1)", (field, token) => {
  expect(bearerToken(field)).toBe(token);
});

describe("an Authorization field with a name and a password (RFC 7617)", () => {
  it.each<[string, string, string, string]>([
    ["section 2, the example", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"],
    ["section 2.1, the example in UTF-8", "Basic dGVzdDoxMjPCow==", "test", "123£"],
    ["the scheme in any case (RFC 9110 section 11.1)", "bAsIc dGVzdDoxMjPCow==", "test", "123£"],
    ["several spaces (RFC 9110 section 11.4)", "Basic   dGVzdDoxMjPCow== ", "test", "123£"],
    ["section 2: a colon in the password", basic("ci:a:b"), "ci", "a:b"],
    ["neither name nor password", basic(":"), "", ""],
    ["section 2.1: composed letters (NFC)", basic("Zoe\u0308:e\u0301"), "Zo\u00eb", "\u00e9"],
  ])("%s", (_, field, username, password) => {
    expect(readBasicCredentials(field)).toEqual({ username, password });
  });

  it.each<[string, string]>([
    ["no colon", basic("Aladdin")],
    ["control characters (section 2)", basic("ci:a\u0007")],
    ["a line break in the name", basic("c\ni:a")],
    ["DEL", basic("ci:\u007f")],
    ["bytes that are not UTF-8 (section 2.1)", basic(Uint8Array.of(0x63, 0x3a, 0xa3))],
    ["Base64 without padding (RFC 4648 section 3.2)", "Basic dGVzdDoxMjPCow"],
    ["base64url (RFC 4648 section 4)", "Basic _w==:"],
    ["white space inside", "Basic dGVz dDox"],
    ["nothing", "Basic "],
    ["another scheme", "Bearer dGVzdDoxMjPCow=="],
    ["a scheme that begins like it", "BasicX dGVzdDoxMjPCow=="],
    ["more than 4096 characters", basic(`a:${"x".repeat(4096)}`)],
  ])("is none: %s", (_, field) => {
    expect(readBasicCredentials(field)).toBeUndefined();
  });

  it("gives back every name and password without control characters", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 100 }).filter((one) => !/\p{Cc}/u.test(one));
    fc.assert(
      fc.property(
        text.filter((one) => !one.includes(":")),
        text,
        (username, password) => {
          expect(readBasicCredentials(basic(`${username}:${password}`))).toEqual({
            username: username.normalize("NFC"),
            password: password.normalize("NFC"),
          });
        },
      ),
    );
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.string(), (text) => void readBasicCredentials(`Basic ${text}`)));
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void readBasicCredentials(basic(bytes))));
  });
});

describe("a token in the path", () => {
  it.each<[string, string, string, string]>([
    ["/tokens/abc", "abc", "/tokens/abc", "/"],
    ["/tokens/abc?name=a.b", "abc", "/tokens/abc", "/?name=a.b"],
    ["https://h.example/tokens/abc", "abc", "/tokens/abc", "https://h.example/"],
    ["/tokens/a/tokens/b/resolve", "a", "/tokens/a", "/tokens/b/resolve"],
  ])("%s", (url, token, prefix, rest) => {
    expect(readPathToken(url)).toEqual({ token, prefix, url: rest });
  });

  it.each([
    "/",
    "/tokens/",
    "/tokens//dns-query",
    "/TOKENS/abc/dns-query",
    "/tokens/a%62c/dns-query",
    "/tokens/a b/dns-query",
    "/x/tokens/abc/dns-query",
    "/dns-query?dns=/tokens/abc/",
    "https://tokens/abc",
    `/tokens/${"a".repeat(256)}/dns-query`,
  ])("is none: %s", (url) => {
    expect(readPathToken(url)).toBeUndefined();
  });

  it("is taken away, and nothing else", () => {
    const token = fc.stringMatching(/^[A-Za-z0-9\-._~]{1,255}$/);
    const rest = fc.webPath().filter((path) => path.startsWith("/"));
    fc.assert(
      fc.property(token, rest, fc.constantFrom("", "https://h.example:8443"), (one, path, origin) => {
        expect(isPathToken(one)).toBe(true);
        const url = `${origin}/tokens/${one}${path}`;
        expect(readPathToken(url)).toEqual({ token: one, prefix: `/tokens/${one}`, url: `${origin}${path}` });
      }),
    );
  });
});

describe("a token in the host name", () => {
  const NAMES = ["doh.example.org", "example.net"];
  it.each<[string, string]>([
    ["abc.doh.example.org.", "abc"],
    ["abc.doh.example.org:8443", "abc"],
    ["abc.doh.example.org.:8443", "abc"],
    [`${"a".repeat(63)}.example.net`, "a".repeat(63)],
  ])("%s", (host, token) => {
    expect(readHostToken(host, NAMES)).toBe(token);
  });

  it.each([
    "doh.example.org",
    ".doh.example.org",
    "a.b.doh.example.org",
    "abcdoh.example.org",
    "abc.doh.example.org.evil.example",
    "-abc.example.net",
    "abc-.example.net",
    "[::1]:8443",
    `${"a".repeat(64)}.example.net`,
  ])("are not there: %j", (host) => {
    expect(readHostToken(host, NAMES)).toBeUndefined();
  });

  it("is every label before a name, whatever its case, and never more than a label", () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
    fc.assert(
      fc.property(label, fc.constantFrom(...NAMES), fc.boolean(), (token, name, upper) => {
        expect(isHostToken(token)).toBe(true);
        const host = `${token}.${name}`;
        expect(readHostToken(upper ? host.toUpperCase() : host, NAMES)).toBe(token);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const token = readHostToken(`${text}.example.net`, ["example.net"]);
        expect(token === undefined || isHostToken(token)).toBe(true);
      }),
    );
  });
});
