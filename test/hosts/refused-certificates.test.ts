import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { makeAuthority, makeClient } from "./client-certificates.ts";
import { Gateways, send } from "./gateways.ts";

const gateways = new Gateways();
afterAll(() => gateways.close());

describe("a client whose certificate another authority with the same name issued", () => {
  it.each([1, 2])("keeps its connection, whatever it requests: threads: %d", async (threads) => {
    const authority = await makeAuthority("clusters");
    const stranger = await makeClient(await makeAuthority("clusters"), "east", {
      dnsNames: ["east.example"],
    });
    const folder = gateways.folder();
    writeFileSync(join(folder, "clients.crt"), authority.cert);
    const credentials = [{ clusterId: "east", certificate: { san: "east.example" } }];
    const gateway = await gateways.start(folder, {
      threads,
      access: { public: true },
      tls: { clientCaFile: "clients.crt" },
      push: { credentials },
    });
    for (const http2 of [true, false])
      for (let round = 0; round < 5; round++) {
        const sent = { client: stranger, http2 };
        expect((await send(gateway, "/healthz", sent)).status).toBe(200);
        const cluster = await send(gateway, "/api/v1/clusters/east", sent);
        expect([cluster.status, cluster.json().code]).toEqual([401, "CERTIFICATE_REFUSED"]);
      }
  });
});
