import { X509Certificate } from "node:crypto";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { PushClient } from "../../../src/worker/push-client.ts";
import { folderOfTest } from "../../folders.ts";
import { emptySnapshot } from "../../snapshot/worlds.ts";
import { GatewayDouble } from "../gateway-double.ts";
import { KeptLogs } from "../logs.ts";

const DAY = 86_400_000;
const gateway = new GatewayDouble();
const servers: Server[] = [];
let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Pushes once to a gateway with this certificate, by this host name. */
async function push({ cert, key }: TlsIdentity, host: string, ca?: string): Promise<void> {
  const server = createServer({ cert, key }, gateway.listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new PushClient({
    gateway: `https://${host}:${(server.address() as AddressInfo).port}`,
    token: "token",
    leaseSeconds: 60,
    backoff: { first: 1, most: 1 },
    logger: new KeptLogs(),
    isCurrent: () => true,
    ...(ca !== undefined && { ca }),
  });
  try {
    await client.deliver(emptySnapshot("east"), new AbortController().signal);
  } finally {
    await client.close();
  }
}

test("an untrusted certificate is an error at once, with --ca-file and the fingerprint", async () => {
  const made = await keepSelfSigned(folder, undefined, Date.now());
  const { fingerprint256 } = new X509Certificate(made.cert);
  await expect(push(made, "127.0.0.1")).rejects.toMatchObject({
    code: "CERTIFICATE_UNTRUSTED",
    remedy: "person",
    message: expect.stringMatching(
      new RegExp(
        `^the certificate of .* is not trusted .* if it is self-signed, with --ca-file\\. .*${fingerprint256}`,
      ),
    ),
  });
  await expect(push(made, "127.0.0.1")).rejects.not.toThrow(/system-ca/);
});

test("with --ca-file of another gateway the message names that file", async () => {
  const made = await keepSelfSigned(folder, undefined, Date.now());
  const other = await keepSelfSigned(join(folder, "other"), undefined, Date.now());
  await expect(push(made, "localhost", other.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_UNTRUSTED",
    message: expect.stringContaining("the file of --ca-file has neither this certificate nor its authority"),
  });
});

test("a certificate without the name of the gateway is an error with its names and the setting", async () => {
  const made = await keepSelfSigned(folder, "doh.example", Date.now());
  // An address of loopback that is not in the certificate.
  await expect(push(made, "[::ffff:7f00:1]", made.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_NAME_MISMATCH",
    remedy: "person",
    message: expect.stringMatching(
      /is for localhost, doh\.example, 127\.0\.0\.1, .*, not for ::ffff:7f00:1: set publicUrl \(--public-url\) of the gateway to https:/,
    ),
  });
});

test("an expired certificate is an error with its end", async () => {
  const made = await keepSelfSigned(folder, undefined, Date.now() - 400 * DAY);
  const { validTo } = new X509Certificate(made.cert);
  await expect(push(made, "localhost", made.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_EXPIRED",
    message: expect.stringContaining(`has expired (${validTo})`),
  });
});

test("a gateway that does not answer is not a certificate's failure", async () => {
  const made = await keepSelfSigned(folder, undefined, Date.now());
  gateway.error = () => "drop";
  await expect(push(made, "localhost", made.cert)).rejects.toMatchObject({ code: "UNREACHABLE" });
});
