import { describe, expect, it } from "vitest";
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

describe("an error of the gateway", () => {
  it("becomes a 500 whose message is only in the log", async () => {
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
});

describe("CORS", () => {
  it.each(titled(closedOriginCases))("by default, %s", (_, entry) => checkCase(app.fetch, entry));
});
