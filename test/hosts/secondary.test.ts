import { describe, expect, it } from "vitest";
import { createPushForwarder } from "../../src/hosts/secondary/push-forwarder.ts";
import { createSecondaryHost } from "../../src/hosts/secondary/secondary-host.ts";
import { readSecondarySettings } from "../../src/hosts/secondary/settings.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { pushRequest, refusal, type Sent } from "../conformance/push-client.ts";

describe("settings", () => {
  const valid = {
    CLUSTERSET_PRIMARY_URL: "https://doh.example.org/edge",
    CLUSTERSET_TRANSFER_TOKEN: "secret",
  };

  it("come from environment variables", () => {
    const settings = readSecondarySettings({
      ...valid,
      CONFIG: '{"zones":["clusterset.example.org"],"ttlSeconds":7}',
      PUSH_CREDENTIALS: JSON.stringify({ west: "a".repeat(64) }),
    });
    expect(settings).toMatchObject({
      config: { zones: ["clusterset.local", "clusterset.example.org"], ttlSeconds: 7 },
      credentials: [{ clusterId: "west", tokenSha256: "a".repeat(64) }],
      primaryUrl: "https://doh.example.org/edge",
      transferToken: "secret",
    });
  });

  it.each([
    ["CLUSTERSET_PRIMARY_URL", undefined],
    ["CLUSTERSET_PRIMARY_URL", "doh.example.org"],
    ["CLUSTERSET_PRIMARY_URL", "https://"],
    ["CLUSTERSET_TRANSFER_TOKEN", undefined],
    ["CLUSTERSET_TRANSFER_TOKEN", "two words"],
    ["CONFIG", '{"zone":[]}'],
    ["CONFIG", "zones"],
    ["location.source", '{"location":{"source":"cf","rules":[{"region":"eu"}]}}'],
    [
      "CONFIG.location.hops",
      '{"location":{"source":"headers","trustedProxies":["::1"],"hops":2,"headers":{"colo":"a"},"rules":[{"region":"eu"}]}}',
    ],
    ["PUSH_CREDENTIALS", '{"west":"token"}'],
  ])("that are wrong are named: %s %j", (name, value) => {
    const variable = /location/.test(name) ? "CONFIG" : name;
    const read = () => readSecondarySettings({ ...valid, [variable]: value });
    expect(read).toThrow(name);
    if (name === "CLUSTERSET_TRANSFER_TOKEN") expect(read).not.toThrow("two words");
  });
});

describe("who may ask", () => {
  const logged = (config: object) => {
    const events: string[] = [];
    const settings = readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: "https://primary.example",
      CLUSTERSET_TRANSFER_TOKEN: "secret",
      CONFIG: JSON.stringify(config),
    });
    createSecondaryHost(settings, "0.0.0", (level, event) => events.push(`${level} ${event}`));
    return events;
  };

  it("is everybody where nothing is stated, and that is logged", () => {
    expect(logged({})).toEqual(["warn access-not-stated"]);
    expect(logged({ access: { public: true } })).toEqual([]);
    const rules = [{ name: "one", bearer: [{ tokenSha256: "a".repeat(64) }] }];
    expect(logged({ access: { rules } })).toEqual([]);
  });

  it("is nobody where that is stated", async () => {
    const settings = readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: "https://primary.example",
      CLUSTERSET_TRANSFER_TOKEN: "secret",
      CONFIG: '{"access":{"public":false}}',
    });
    const host = createSecondaryHost(settings, "0.0.0", () => {});
    const ask = (path: string) =>
      host.fetch(makeRequest({ path }), { address: undefined, certificate: "none" });
    expect((await ask("/dns-query")).status).toBe(403);
    expect((await ask("/readyz")).status).toBe(503);
    expect((await ask("/healthz")).status).toBe(200);
  });
});

describe("forwarding", () => {
  interface Forwarded {
    readonly url: string;
    readonly request: RequestInit;
    readonly body: string;
  }

  /** A primary that answers everything alike, or fails. */
  function open(answer: () => Response = () => Response.json({}), primaryUrl = "https://primary.example") {
    const forwarded: Forwarded[] = [];
    const errors: unknown[] = [];
    const routes = createPushForwarder({
      primaryUrl,
      sentBytes: 1000,
      onError: (error) => errors.push(error),
      fetch: async (url, request) => {
        const body = await new Response(request.body ?? null).text();
        forwarded.push({ url, request, body });
        return answer();
      },
    });
    const send = async (method: string, path: string, sent?: Sent) =>
      routes.fetch(makeRequest(pushRequest(method, path, sent)));
    return { send, forwarded, errors };
  }

  it("hands on method, path, parameters, body, and the fields that count", async () => {
    const { send, forwarded } = open(undefined, "https://primary.example/edge/");
    const headers = { cookie: "a=b", "x-forwarded-for": "10.0.0.1", "content-encoding": "gzip" };
    await send("PUT", "west/snapshot?leaseSeconds=60", { body: "zipped", headers });
    expect(forwarded[0]).toMatchObject({
      url: "https://primary.example/edge/api/v1/clusters/west/snapshot?leaseSeconds=60",
      body: "zipped",
      request: { method: "PUT", redirect: "manual" },
    });
    expect(forwarded[0]!.request.headers).toEqual({
      "accept-encoding": "identity",
      authorization: "Bearer west-token",
      "content-encoding": "gzip",
      "content-type": "application/json",
    });
  });

  it("hands back status, body, and the fields that count", async () => {
    const { send } = open(() =>
      Response.json(
        { a: 1 },
        { status: 429, headers: { "retry-after": "7", "set-cookie": "a=b", via: "1.1 x" } },
      ),
    );
    const response = await send("GET", "west");
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({ a: 1 });
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "retry-after": "7",
    });
  });

  it("hands back a response without a body", async () => {
    const { send } = open(() => new Response(null, { status: 204 }));
    expect((await send("DELETE", "west")).status).toBe(204);
  });

  it("does not ask the primary for a body that is declared too long", async () => {
    const { send, forwarded } = open();
    const refused = await refusal(send("PUT", "west/snapshot", { body: "x".repeat(1001) }));
    expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    expect(forwarded).toEqual([]);
  });

  it("breaks off a body that gets too long", async () => {
    const { send, forwarded } = open();
    let asked = 0;
    const body = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          asked++;
          controller.enqueue(new Uint8Array(100));
        },
      });
    const refused = await refusal(send("PUT", "west/snapshot", { body }));
    expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    expect(asked).toBeLessThan(20);
    expect(forwarded).toEqual([]);
  });

  it.each([
    ["that does not answer", () => Promise.reject(new TypeError("fetch failed"))],
    [
      "that leads elsewhere",
      () => new Response(null, { status: 301, headers: { location: "https://evil" } }),
    ],
  ])("a primary %s is a 502, and told", async (_, answer) => {
    const { send, errors } = open(answer as () => Response);
    const refused = await refusal(send("PUT", "west/snapshot", { body: "{}" }));
    expect(refused).toMatchObject({ status: 502, code: "PRIMARY_UNREACHABLE" });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.headers.get("location")).toBeNull();
    expect(errors).toHaveLength(1);
  });
});
