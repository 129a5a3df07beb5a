import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { makeAuthority, makeServer, type PemPair } from "../client-certificates.ts";
import { Gateways } from "../gateways.ts";

let authority: PemPair;
let certificate: PemPair;
beforeAll(async () => {
  authority = await makeAuthority("names");
  const names = ["*.example.org", "dns.example.org", "other.example.net"];
  certificate = await makeServer(authority, names, ["127.0.0.1"]);
});

const gateways = new Gateways();
afterEach(() => gateways.close());

/** The status of a request over a connection. @param opened the handshake's name; undefined: an address */
async function statusOf(config: object, opened: string | undefined, host: string): Promise<unknown> {
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
    const [fields] = await once(session.request({ ":path": "/healthz", ":authority": host }), "response");
    return fields[":status"];
  } finally {
    session.destroy();
  }
}

const NAMED = { publicUrl: "https://dns.example.org", access: { public: true } };
const TOKENS = { ...NAMED, access: { public: true, hostNames: ["dns.example.org"] } };

test.each<[status: number, why: string, config: object, opened: string | undefined, host: string]>([
  [421, "a wildcard covers both", NAMED, "dns.example.org", "www.example.org:443"],
  [421, "a wildcard covers both, in other letters", NAMED, "mail.example.org", "WWW.example.org."],
  [200, "the connection is for that host", NAMED, "www.example.org", "www.example.org:8443"],
  [200, "the client connected to an address", NAMED, undefined, "www.example.org"],
  [200, "the host is the gateway's", NAMED, "www.example.org", "dns.example.org:8443"],
  [200, "the host has a token", TOKENS, "dns.example.org", "token.dns.example.org"],
  [200, "the certificate names the host", NAMED, "dns.example.org", "other.example.net"],
  [200, "the certificate does not cover the host", NAMED, "dns.example.org", "example.com"],
  [200, "the host is an address", NAMED, "dns.example.org", "127.0.0.1:8443"],
  [200, "the gateway does not know its names", {}, "dns.example.org", "www.example.org"],
])(
  "a request over a connection that was opened for another host (RFC 9113 section 9.1.1) gets %i where %s",
  async (status, _, config, opened, host) => {
    expect(await statusOf(config, opened, host)).toBe(status);
  },
);
