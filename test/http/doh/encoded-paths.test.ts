import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainPath } from "../../../src/http/messages/message.ts";
import { NAME } from "../../conformance/cases/doh.ts";
import { base64url, FakeGateway, NOW, query } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

const encoded = (text: string) =>
  text.replace(/[^/]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

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

  it("is answered where the decoded one is, in a cluster's view and as JSON, too", async () => {
    const gateway = new FakeGateway();
    const app = openApp({ gateway, clock: () => NOW, zones: ["clusterset.local"], version: "0.0.0" });
    const search = `?dns=${base64url(query(NAME))}`;
    const paths = ["/dns-query", "/clusters/cluster-a/dns-query", "/clusters/nowhere/dns-query"];
    for (const path of paths) {
      const plain = await app.request(`${path}${search}`);
      const other = await app.request(`${encoded(path)}${search}`);
      expect([path, other.status]).toEqual([path, plain.status]);
      expect(await other.arrayBuffer()).toEqual(await plain.arrayBuffer());
    }
    expect(gateway.asked.map(({ view }) => view)).toEqual([undefined, undefined, "cluster-a", "cluster-a"]);
    expect((await app.request(`/r%65solve?name=${NAME}&type=A`)).status).toBe(200);
    expect((await app.request(`/%74okens/abc/dns-query${search}`)).status).toBe(404);
  });

  it("keeps the methods and the bounds of the decoded one", async () => {
    const app = openApp({ gateway: new FakeGateway(), clock: () => NOW, zones: [], version: "0.0.0" });
    const put = await app.request("/dns%2Dquery", { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, HEAD, POST, OPTIONS"]);
    const body = query(NAME);
    const headers = { "content-type": "application/dns-message" };
    expect((await app.request("/dns%2Dquery", { method: "POST", body, headers })).status).toBe(200);
  });
});
