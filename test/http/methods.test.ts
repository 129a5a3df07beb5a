import { beforeEach, describe, expect, it } from "vitest";
import { createDirectory } from "../../src/http/pages/directory.ts";
import { base64url, FakeGateway, query } from "./fake-gateway.ts";
import { openApp } from "./open-app.ts";

const DNS_QUERY = `/dns-query?dns=${base64url(query("web.shop.svc.clusterset.test"))}`;

let gateway: FakeGateway;
let app: ReturnType<typeof openApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  app = openApp({
    gateway,
    metrics: { contentType: "text/plain", render: async () => "" },
    pages: { directory: createDirectory(() => undefined) },
  });
});

/**
 * A request as a server hands it on that does not change methods; `new Request()` writes `get` in upper case.
 */
function request(method: string, path: string): Request {
  const made = new Request(`https://gateway.example${path}`);
  Object.defineProperty(made, "method", { value: method });
  return made;
}

describe("methods are case-sensitive (RFC 9110 section 9.1)", () => {
  it.each([
    ...["get", "post", "Get", "head", "options"].map((method) => [method, DNS_QUERY, 405] as const),
    ["get", `/clusters/cluster-a${DNS_QUERY}`, 405] as const,
    ["get", "/resolve?name=web.shop.svc.clusterset.test", 405] as const,
    ...["/", "/services", "/setup", "/metrics", "/healthz", "/readyz"].map(
      (path) => ["get", path, 405] as const,
    ),
    ["head", "/", 405] as const,
    ["get", "/nothing", 404] as const,
    // Names that every object has.
    ...["constructor", "__proto__"].flatMap((method) => [
      [method, "/services", 405] as const,
      [method, "/nothing", 404] as const,
    ]),
  ])("%s %s is %i", async (method, path, status) => {
    const response = await app.fetch(request(method, path));
    expect(response.status).toBe(status);
    if (status === 405)
      expect(response.headers.get("allow")).toBe(
        path.includes("dns-query")
          ? "GET, HEAD, POST, OPTIONS"
          : path.includes("resolve")
            ? "GET, HEAD, OPTIONS"
            : "GET, HEAD",
      );
    expect(gateway.asked).toEqual([]);
  });
});
