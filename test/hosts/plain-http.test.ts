import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sync } from "../../src/hosts/commands/sync.ts";
import type { RunningGateway } from "../../src/hosts/node/gateway-host.ts";
import { Gateways } from "./gateways.ts";

const examples = fileURLToPath(new URL("../../examples/cluster-a", import.meta.url));
const gateways = new Gateways();
let gateway: RunningGateway;
let tokenFile: string;

beforeAll(async () => {
  const folder = gateways.folder();
  tokenFile = join(folder, "cluster-a.token");
  writeFileSync(tokenFile, "a-token");
  gateway = await gateways.start(folder, {
    push: { credentials: [{ clusterId: "cluster-a", tokenFile: "cluster-a.token" }] },
  });
});
afterAll(() => gateways.close());

const push = (to: string, lease?: number) =>
  sync(
    {
      gateway: [to],
      manifests: examples,
      clusterId: "cluster-a",
      tokenFile,
      once: true,
      lease,
      caFile: gateway.certificateFile,
    },
    pino({ level: "silent" }),
    new AbortController().signal,
  );

describe("a port for TLS", () => {
  it("answers plain HTTP with the address that begins with https://", async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("GET /resolve?name=a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    await once(socket, "close");
    const [head, body] = answer.split("\r\n\r\n") as [string, string];
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(JSON.parse(body)).toEqual({
      code: "HTTPS_REQUIRED",
      message: "this port speaks HTTPS: begin the address with https://",
    });
  });

  it("keeps answering over TLS, and ends other bytes without an answer", async () => {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.end("\0\0\0\0 no protocol at all");
    let bytes = 0;
    socket.on("data", (part) => {
      bytes += part.length;
    });
    await once(socket, "close");
    // At most a TLS alert.
    expect(bytes).toBeLessThanOrEqual(7);
    await push(gateway.url);
  });
});

describe("sync", () => {
  it("names the scheme where the gateway speaks TLS", async () => {
    await expect(push(gateway.url.replace("https:", "http:"))).rejects.toMatchObject({
      code: "HTTPS_REQUIRED",
      message: expect.stringMatching(
        /answered 400 HTTPS_REQUIRED: this port speaks HTTPS: .*; next step: begin the URL of the gateway \(--gateway\) with https:\/\//,
      ),
    });
  });

  it.each([2, 4000])("names the bounds of the gateway for --lease %i", async (lease) => {
    await expect(push(gateway.url, lease)).rejects.toMatchObject({
      code: "LEASE_OUT_OF_RANGE",
      message: expect.stringContaining(
        `a lease has 5 to 3600 seconds, not ${lease}; next step: choose --lease in this range`,
      ),
    });
  });
});
