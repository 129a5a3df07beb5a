import { afterEach, expect, it } from "vitest";
import { Gateways, send } from "./gateways.ts";

const gateways = new Gateways();
afterEach(() => gateways.close());

it("the pages are on by default; DNS answers do not depend on them", async () => {
  const on = await gateways.start(gateways.folder(), { publicUrl: "https://doh.example.org/" });
  const off = await gateways.start(gateways.folder(), { pages: { enabled: false } });
  for (const path of ["/", "/services", "/clusters", "/conflicts", "/setup", "/setup/curl/curl.sh"]) {
    expect((await send(on, path)).status, path).toBe(200);
    expect((await send(off, path)).status, path).toBe(404);
  }
  for (const path of ["/healthz", "/metrics", "/resolve?name=a.example"])
    expect((await send(off, path)).status, path).toBe(200);
  const policy = await send(on, "/setup/curl/curl.sh");
  expect(policy.bytes.toString()).toContain("https://doh.example.org/resolve?name=");
});

it("offers the served certificate if it is self-signed, and no other", async () => {
  const gateway = await gateways.start(gateways.folder(), {});
  const { bytes, headers } = await send(gateway, "/setup/certificate/certificate.crt");
  expect(bytes.toString()).toMatch(/^-----BEGIN CERTIFICATE-----/);
  expect(headers["content-disposition"]).toBe('attachment; filename="certificate.crt"');
});
