import { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { PushClient } from "../../../src/worker/push-client.ts";
import { folderOfTest } from "../../folders.ts";
import { emptySnapshot } from "../../snapshot/worlds.ts";
import { GatewayDouble } from "../gateway-double.ts";
import { KeptLogs } from "../logs.ts";

const DAY = 86_400_000;
const gateway = new GatewayDouble();
let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});
/** Pushes once to a gateway with this certificate, by this host name. */
async function push({ cert, key }: TlsIdentity, host: string, ca?: string): Promise<void> {
  const server = createServer({ cert, key }, gateway.listener);
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
    server.closeAllConnections();
    server.close();
  }
}

/** The certificate that a gateway made for itself. */
const made = (publicHost?: string, at = Date.now(), name = "gateway") =>
  keepSelfSigned(join(folder, name), publicHost, at);

test("an untrusted certificate is an error at once, with --ca-file and the fingerprint", async () => {
  const identity = await made();
  const { fingerprint256 } = new X509Certificate(identity.cert);
  const failing = push(identity, "127.0.0.1");
  const message = `^the certificate of .* is not trusted .* if it is self-signed, with --ca-file\\. .*${fingerprint256}`;
  await expect(failing).rejects.toMatchObject({
    code: "CERTIFICATE_UNTRUSTED",
    remedy: "person",
    message: expect.stringMatching(message),
  });
  await expect(failing).rejects.not.toThrow(/system-ca/);
});

test("with --ca-file of another gateway the message names that file", async () => {
  const other = await made(undefined, undefined, "other");
  await expect(push(await made(), "localhost", other.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_UNTRUSTED",
    message: expect.stringContaining("the file of --ca-file has neither this certificate nor its authority"),
  });
});

test("a certificate without the name of the gateway is an error with its names and the setting", async () => {
  const identity = await made("doh.example");
  // An address of loopback that is not in the certificate.
  await expect(push(identity, "[::ffff:7f00:1]", identity.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_NAME_MISMATCH",
    remedy: "person",
    message: expect.stringMatching(
      /is for localhost, doh\.example, 127\.0\.0\.1, .*, not for ::ffff:7f00:1: set publicUrl \(--public-url\) of the gateway to https:/,
    ),
  });
});

test("an expired certificate is an error with its end, and a gateway that does not answer is none of a certificate", async () => {
  const expired = await made(undefined, Date.now() - 400 * DAY);
  await expect(push(expired, "localhost", expired.cert)).rejects.toMatchObject({
    code: "CERTIFICATE_EXPIRED",
    message: expect.stringContaining(`has expired (${new X509Certificate(expired.cert).validTo})`),
  });
  const identity = await made(undefined, undefined, "other");
  gateway.error = () => "drop";
  await expect(push(identity, "localhost", identity.cert)).rejects.toMatchObject({ code: "UNREACHABLE" });
});
