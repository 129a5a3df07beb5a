import { readFileSync } from "node:fs";
import { get } from "node:https";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { isLocalHost } from "../../src/http/messages/message.ts";
import { Gateways, type Sent, send } from "./gateways.ts";

const gateways = new Gateways();
afterEach(() => gateways.close());

const CLEAR = { tls: false };
const PATHS: readonly (readonly [string, Sent])[] = [
  ["/", {}],
  ["/resolve?name=web.shop.svc.clusterset.local", {}],
  ["/dns-query?dns=AAAB", {}],
  ["/clusters/west/dns-query", { method: "OPTIONS" }],
  ["/tokens/unknown/dns-query", {}],
  ["/metrics", {}],
  ["/readyz", {}],
  ["/nowhere", {}],
  ["/api/v1/clusters/west/snapshot", { method: "PUT", json: {} }],
  ["/federations/west", { method: "POST", json: {} }],
];

describe("a page whose name was pointed at the gateway (DNS rebinding)", () => {
  it("reads nothing in clear on loopback, whatever it requests", async () => {
    const gateway = await gateways.start(gateways.folder(), CLEAR);
    const headers = { host: "rebound.example:8080", accept: "application/json" };
    const refusal = { code: "UNKNOWN_HOST", message: expect.stringContaining("set access.public") };
    for (const [path, sent] of PATHS) {
      const { status, json } = await send(gateway, path, { ...sent, headers });
      expect([path, status, json()]).toEqual([path, 421, refusal]);
    }
    // RFC 9112 section 3.2.2: a whole URL as the target of its request.
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    socket.write("GET http://rebound.example/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let text = "";
    for await (const part of socket) text += part;
    expect(text).toMatch(/^HTTP\/1\.1 421 /);
    // Clients that name the machine are not kept out.
    expect((await send(gateway, "/", { headers: { host: "LOCALHOST." } })).status).toBe(200);
  });

  it("is no concern where an answer to everybody is stated, or a browser expects a certificate for that name", async () => {
    const headers = { host: "other.example" };
    const clear = await gateways.start(gateways.folder(), { ...CLEAR, access: { public: true } });
    expect((await send(clear, "/", { headers })).status).toBe(200);
    const gateway = await gateways.start(gateways.folder(), {});
    const ca = readFileSync(gateway.certificateFile!);
    const status = await new Promise((resolve, reject) => {
      const options = { ca, servername: "localhost", headers };
      get(gateway.url, options, (answer) => resolve(answer.resume().statusCode)).on("error", reject);
    });
    expect(status).toBe(200);
  });
});

it("names that only the machine has, and addresses, are known hosts, and no others", () => {
  for (const host of ["", "localhost:80", "LOCALHOST.", "10.1.2.3", "[fd00::1]:80", "localhost.:443"])
    expect(isLocalHost(host), host).toBe(true);
  const others = [
    "example.org",
    "localhost.example.org",
    "127.0.0.1.example.org",
    "x.localhost",
    "2130706433",
  ];
  for (const host of [...others, "localhost:80:80"]) expect(isLocalHost(host), host).toBe(false);
});
