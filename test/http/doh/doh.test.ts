import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keptFields } from "../../../src/http/doh/dns-route.ts";
import { base64urlLength, decodeBase64url } from "../../../src/http/messages/message.ts";
import { createDirectory } from "../../../src/http/pages/directory.ts";
import { closedOriginCases } from "../../conformance/cases/cross-origin.ts";
import { NAME } from "../../conformance/cases/doh.ts";
import { checkCase, titled } from "../../conformance/http-case.ts";
import { base64url, FakeGateway, query } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

const DNS = "application/dns-message";

const app = openApp();

describe("POST (RFC 8484 section 4.1)", () => {
  it("stops reading an endless body at the limit", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled += 1;
        controller.enqueue(new Uint8Array(10_000));
      },
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(413);
    expect(pulled).toBeLessThan(10);
  });

  it("answers an incomplete body with 400", async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error("gone")),
    });
    const init = { method: "POST", body, duplex: "half", headers: { "content-type": DNS } } as const;
    expect((await app.request("/dns-query", init)).status).toBe(400);
  });
});

it("an error of the gateway becomes a 500 whose message is only in the log", async () => {
  const errors: Error[] = [];
  const failing = openApp({
    gateway: Object.assign(new FakeGateway(), {
      answer: () => {
        throw new Error("inner words");
      },
    }),
    onError: (error) => errors.push(error),
  });
  const response = await failing.request(`/dns-query?dns=${base64url(query(NAME))}`);
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("inner words");
  expect(errors.map((error) => error.message)).toEqual(["inner words"]);
});

it.each(titled(closedOriginCases))("by default, %s", (_, entry) => checkCase(app.fetch, entry));

describe("methods are case-sensitive (RFC 9110 section 9.1)", () => {
  const wire = `/dns-query?dns=${base64url(query(NAME))}`;
  it.each([
    ["get", wire, "GET, HEAD, POST, OPTIONS"],
    ["options", wire, "GET, HEAD, POST, OPTIONS"],
    ["get", `/clusters/cluster-a${wire}`, "GET, HEAD, POST, OPTIONS"],
    ["get", `/resolve?name=${NAME}`, "GET, HEAD, OPTIONS"],
    ["head", "/", "GET, HEAD"],
    ["get", "/metrics", "GET, HEAD"],
    ["get", "/healthz", "GET, HEAD"],
    ["get", "/nothing", null],
    // Names that every object has.
    ["constructor", "/services", "GET, HEAD"],
    ["__proto__", "/nothing", null],
  ])("%s %s is not allowed, only %s", async (method, path, allow) => {
    const gateway = new FakeGateway();
    const { fetch } = openApp({
      gateway,
      metrics: { contentType: "text/plain", render: async () => "" },
      pages: { directory: createDirectory(() => undefined) },
    });
    // A server hands methods on as they are; `new Request()` writes `get` in upper case.
    const request = new Request(`https://gateway.example${path}`);
    Object.defineProperty(request, "method", { value: method });
    const { status, headers } = await fetch(request);
    expect([status, headers.get("allow")]).toEqual([allow === null ? 404 : 405, allow]);
    expect(gateway.asked).toEqual([]);
  });
});

describe("header fields of answers are kept", () => {
  const LENGTHS = [12, 13, 29, 30, 31, 4096, 65_535];
  const FRESHNESSES = [0, 1, 2, 4, 5, 30, 31, 4096, 65_535, 86_400];

  /** Fields of answers of one kind, by length and freshness. */
  function fieldsOf({ variesByCredential = false }) {
    const fields = keptFields();
    return (length: number, freshness: number) => {
      const answer = { bytes: new Uint8Array(length), outcome: "answer", freshness } as const;
      return fields({ answer, isPrivate: false, variesByCredential }, true);
    };
  }

  it("answers that differ in length or freshness never share header fields", () => {
    const headers = fieldsOf({ variesByCredential: true });
    for (let round = 0; round < 2; round++)
      for (const length of LENGTHS)
        for (const freshness of FRESHNESSES)
          expect(headers(length, freshness)).toMatchObject({
            "content-length": String(length),
            "cache-control": freshness === 0 ? "no-store" : `max-age=${freshness}`,
            vary: "authorization",
          });
  });

  it("the cache is bounded, and correct when it is full", () => {
    const headers = fieldsOf({});
    const first = headers(12, 1);
    for (let length = 100; length < 5100; length++) headers(length, 5);
    expect(headers(12, 1)).not.toBe(first);
    expect(headers(12, 1)).toEqual(first);
  });
});

describe("base64url (RFC 4648 section 5)", () => {
  const decode = (text: string): number[] | undefined => {
    const target = new Uint8Array(text.length + 3);
    const size = decodeBase64url(text, target);
    return size < 0 ? undefined : [...target.subarray(0, size)];
  };

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
