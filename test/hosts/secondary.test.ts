import { describe, expect, it } from "vitest";
import { createSecondaryHost, readSecondarySettings } from "../../src/hosts/secondary-host.ts";
import { makeRequest } from "../conformance/http-case.ts";

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
    ["CLUSTERSET_TRANSFER_KEYS", ""],
    ["CLUSTERSET_TRANSFER_KEYS", "short-of-characters"],
    ["CLUSTERSET_TRANSFER_KEYS", ["a", "b", "c"].map((letter) => letter.repeat(43)).join(",")],
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
    if (value !== undefined && name.startsWith("CLUSTERSET_TRANSFER_") && value !== "")
      expect(read).not.toThrow(value);
  });
});

describe("the answers of a secondary", () => {
  const logged = async (config: object) => {
    const events: string[] = [];
    const settings = readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: "https://primary.example",
      CLUSTERSET_TRANSFER_TOKEN: "secret",
      CONFIG: JSON.stringify(config),
    });
    await createSecondaryHost(settings, (level, event) => events.push(`${level} ${event}`));
    return events;
  };

  it("are public if no access is stated, and that is logged", async () => {
    expect(await logged({})).toEqual(["warn access-not-stated"]);
    expect(await logged({ access: { public: true } })).toEqual([]);
    const rules = [{ name: "one", bearer: [{ tokenSha256: "a".repeat(64) }] }];
    expect(await logged({ access: { rules } })).toEqual([]);
  });

  it("are for no client if that is stated", async () => {
    const settings = readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: "https://primary.example",
      CLUSTERSET_TRANSFER_TOKEN: "secret",
      CONFIG: '{"access":{"public":false}}',
    });
    const host = await createSecondaryHost(settings, () => {});
    const ask = (path: string) =>
      host.fetch(makeRequest({ path }), { address: undefined, certificate: "none" });
    expect((await ask("/dns-query")).status).toBe(403);
    expect((await ask("/readyz")).status).toBe(503);
    expect((await ask("/healthz")).status).toBe(200);
  });

  it("include what it fetched, at /metrics, for clients that see everything", async () => {
    const settings = readSecondarySettings({
      CLUSTERSET_PRIMARY_URL: "https://primary.example",
      CLUSTERSET_TRANSFER_TOKEN: "secret",
      CONFIG: '{"access":{"public":true}}',
    });
    const host = await createSecondaryHost(settings, () => {});
    const response = await host.fetch(makeRequest({ path: "/metrics" }), {
      address: undefined,
      certificate: "none",
    });
    expect(response.status).toBe(200);
    const metrics = await response.text();
    expect(metrics).toContain("clusterset_doh_ready 0\n");
    expect(metrics).toContain('\nclusterset_doh_transferred_bytes_total{from="primary"} 0\n');
  });
});
