import { describe, expect, it } from "vitest";
import { createApp } from "../../src/http/app.ts";
import type { AllowedOrigins } from "../../src/http/cross-origin.ts";
import { base64url, FakeGateway, NOW, query } from "./fake-gateway.ts";

const ORIGIN = "https://app.example.org";
const app = (allowedOrigins?: AllowedOrigins) =>
  createApp({
    gateway: new FakeGateway(),
    clock: () => NOW,
    zones: [],
    version: "0",
    ...(allowedOrigins !== undefined && { allowedOrigins }),
  });
const wire = `/dns-query?dns=${base64url(query("web.shop.svc.clusterset.test"))}`;
const paths = [wire, "/resolve?name=a.example", "/dns-query", "/nowhere", "/clusters/none/dns-query"];

describe("CORS", () => {
  it.each(paths)("lets every origin read %s by default", async (path) => {
    const response = await app().request(path, { headers: { origin: ORIGIN } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toBe("age, etag");
  });

  it.each(paths)("lets only listed origins read %s where they are listed", async (path) => {
    const listed = app([ORIGIN]);
    const response = await listed.request(path, { headers: { origin: ORIGIN } });
    expect(response.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(response.headers.get("vary")).toContain("origin");
    for (const headers of [{ origin: "https://evil.example" }, {}]) {
      const other = await listed.request(path, { headers: headers as Record<string, string> });
      expect(other.headers.get("access-control-allow-origin")).toBeNull();
      expect(other.headers.get("vary")).toContain("origin");
      expect(other.status).toBe(response.status);
    }
  });

  it.each(["/dns-query", "/clusters/cluster-a/dns-query"])(
    "answers the preflight of a POST to %s",
    async (path) => {
      const response = await app().request(path, {
        method: "OPTIONS",
        headers: {
          origin: ORIGIN,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type",
        },
      });
      expect(response.status).toBe(204);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("access-control-allow-methods")).toContain("POST");
      expect(response.headers.get("access-control-allow-headers")).toContain("content-type");
      expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(0);
    },
  );

  it("allows nothing in the preflight of an origin that is not listed", async () => {
    const response = await app([]).request("/dns-query", { method: "OPTIONS", headers: { origin: ORIGIN } });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-methods")).toBeNull();
  });
});
