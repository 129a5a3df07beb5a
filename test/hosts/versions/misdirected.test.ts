import { writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { makeAuthority, makeServer, type PemPair } from "../client-certificates.ts";
import { Gateways } from "../gateways.ts";

let authority: PemPair;
let certificate: PemPair;
beforeAll(async () => {
  authority = await makeAuthority("names");
  certificate = await makeServer(
    authority,
    ["*.example.org", "dns.example.org", "other.example.net"],
    ["127.0.0.1"],
  );
});

const gateways = new Gateways();
afterEach(() => gateways.close());

/**
 * The status of a request over a connection.
 * @param opened the name in the handshake; undefined for an address
 */
async function statusOf(config: object, opened: string | undefined, host: string): Promise<number> {
  const folder = gateways.folder();
  writeFileSync(join(folder, "tls.crt"), certificate.cert);
  writeFileSync(join(folder, "tls.key"), certificate.key);
  const tls = { certificateFile: "tls.crt", keyFile: "tls.key" };
  const gateway = await gateways.start(folder, { tls, ...config });
  const session = connect(`https://127.0.0.1:${new URL(gateway.url).port}`, {
    ca: authority.cert,
    ...(opened !== undefined && { servername: opened }),
  });
  try {
    return await new Promise((resolve, reject) => {
      session.on("error", reject);
      const stream = session.request({ ":path": "/healthz", ":authority": host });
      stream.on("response", (fields) => resolve(fields[":status"]!));
      stream.on("error", reject);
      stream.resume();
    });
  } finally {
    session.destroy();
  }
}

const NAMED = { publicUrl: "https://dns.example.org", access: { public: true } };
const TOKENS = { ...NAMED, access: { public: true, hostNames: ["dns.example.org"] } };

describe("a request over a connection that was opened for another host (RFC 9113 section 9.1.1)", () => {
  test.each([
    ["dns.example.org", "www.example.org"],
    ["dns.example.org", "www.example.org:443"],
    ["dns.example.org", "WWW.example.org."],
    ["mail.example.org", "www.example.org"],
  ])("is not answered where a wildcard covers both: opened for %s, asks for %s", async (opened, host) => {
    expect(await statusOf(NAMED, opened, host)).toBe(421);
  });

  test.each<[why: string, config: object, opened: string | undefined, host: string]>([
    ["the connection is for that host", NAMED, "www.example.org", "www.example.org:8443"],
    ["the client connected to an address", NAMED, undefined, "www.example.org"],
    ["the host is the gateway's", NAMED, "www.example.org", "dns.example.org:8443"],
    ["the host has a token", TOKENS, "dns.example.org", "token.dns.example.org"],
    ["the certificate names the host", NAMED, "dns.example.org", "other.example.net"],
    ["the certificate does not cover the host", NAMED, "dns.example.org", "example.com"],
    ["the host is an address", NAMED, "dns.example.org", "127.0.0.1:8443"],
    ["the gateway does not know its names", {}, "dns.example.org", "www.example.org"],
  ])("is answered where %s", async (_, config, opened, host) => {
    expect(await statusOf(config, opened, host)).toBe(200);
  });
});
