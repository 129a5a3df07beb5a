import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sync } from "../../src/hosts/commands/sync.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { Gateways } from "./gateways.ts";
import { received } from "./server/tls-fixture.ts";

const manifests = fileURLToPath(new URL("../../examples/cluster-a", import.meta.url));
const gateways = new Gateways();
let gateway: RunningGateway;
let tokenFile: string;

beforeAll(async () => {
  const folder = gateways.folder();
  tokenFile = join(folder, "cluster-a.token");
  writeFileSync(tokenFile, "a-token");
  const credentials = [{ clusterId: "cluster-a", tokenFile: "cluster-a.token" }];
  gateway = await gateways.start(folder, { push: { credentials } });
});
afterAll(() => gateways.close());

function push(url: string, lease?: number) {
  const flags = { manifests, clusterId: "cluster-a", tokenFile, once: true, caFile: gateway.certificateFile };
  return sync({ ...flags, gateway: [url], lease }, pino({ level: "silent" }), new AbortController().signal);
}

/** What the gateway's port for TLS answers to bytes in clear. */
async function answerTo(bytes: string): Promise<Buffer> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.write(bytes);
  return received(socket);
}

it("a port for TLS answers plain HTTP with the address that begins with https://, and other bytes with an alert at most", async () => {
  const answer = String(await answerTo("GET /resolve?name=a HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  const [head, body] = answer.split("\r\n\r\n") as [string, string];
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(head).toContain(`Content-Length: ${body.length}`);
  expect(JSON.parse(body)).toEqual({
    code: "HTTPS_REQUIRED",
    message: "this port speaks HTTPS: begin the address with https://",
  });
  expect((await answerTo("\0\0\0\0 no protocol at all")).length).toBeLessThanOrEqual(7);
  await push(gateway.url);
});

it("sync names the next step where the gateway speaks TLS, and where the lease is out of its range", async () => {
  await expect(push(gateway.url.replace("https:", "http:"))).rejects.toMatchObject({
    code: "HTTPS_REQUIRED",
    message: expect.stringMatching(
      /answered 400 HTTPS_REQUIRED: this port .*; next step: begin the URL .*\(--gateway\) with https:\/\//,
    ),
  });
  for (const lease of [2, 4000])
    await expect(push(gateway.url, lease)).rejects.toMatchObject({
      code: "LEASE_OUT_OF_RANGE",
      message: expect.stringContaining(
        `a lease has 5 to 3600 seconds, not ${lease}; next step: choose --lease in this range`,
      ),
    });
});
