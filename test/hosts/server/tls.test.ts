import { X509Certificate } from "node:crypto";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { UsageError } from "../../../src/config/values.ts";
import { readServeConfig } from "../../../src/hosts/node/config.ts";
import {
  keepSelfSigned,
  openTlsSource,
  readCertificates,
  readIdentity,
} from "../../../src/hosts/node/tls.ts";
import { folderOfTest } from "../../folders.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);

let folder: string;
beforeEach(() => {
  folder = folderOfTest();
});

const names = (cert: string) => new X509Certificate(cert).subjectAltName;

describe("the self-signed certificate", () => {
  it("names localhost, loopback and the host, is no CA, and keeps its key to its owner", async () => {
    const { cert, key, certificateFile } = await keepSelfSigned(folder, "doh.example", NOW);
    const certificate = new X509Certificate(cert);
    expect(names(cert)).toBe(
      "DNS:localhost, DNS:doh.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1",
    );
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(certificate.issuer).toBe(certificate.subject);
    expect(Date.parse(certificate.validTo) - NOW).toBeLessThan(398 * DAY);
    const keyFile = join(folder, "tls", "self-signed.key");
    expect(await readIdentity(certificateFile, keyFile)).toEqual({ cert, key });
    expect([keyFile, join(folder, "tls")].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
    expect(names((await keepSelfSigned(folder, "192.0.2.1", NOW)).cert)).toContain("IP Address:192.0.2.1");
  });

  it("is kept, until it is near its end, damaged, or for another host", async () => {
    const first = await keepSelfSigned(folder, "localhost", NOW);
    expect((await keepSelfSigned(folder, "localhost", NOW + 366 * DAY)).cert).toBe(first.cert);
    expect((await keepSelfSigned(folder, undefined, NOW)).cert).toBe(first.cert);
    const later = await keepSelfSigned(folder, "localhost", NOW + 368 * DAY);
    expect(later.cert).not.toBe(first.cert);
    const other = await keepSelfSigned(folder, "doh.example", NOW + 368 * DAY);
    expect(other.cert).not.toBe(later.cert);
    writeFileSync(other.certificateFile, "damaged");
    expect((await keepSelfSigned(folder, "doh.example", NOW + 368 * DAY)).cert).not.toBe(other.cert);
  });

  it("stays in use in a gateway that runs, whatever becomes of its file and of the clock, also where a start is before it begins", async () => {
    const open = () => openTlsSource(readServeConfig({ stateDir: folder, public: true }), "localhost");
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
    onTestFinished(() => void vi.useRealTimers());
    const source = (await open())!;
    const { cert } = source.tls;
    vi.setSystemTime(0);
    expect((await open())!.tls.cert).toBe(cert);
    rmSync(source.selfSignedFile!);
    vi.setSystemTime(NOW + 400 * DAY);
    expect([await source.refresh(), source.tls.cert]).toEqual([false, cert]);
  });
});

it("certificates to trust are read from between other text, and damaged ones are reported", async () => {
  const { certificateFile, cert } = await keepSelfSigned(folder, "localhost", NOW);
  const bundle = join(folder, "bundle.pem");
  writeFileSync(bundle, `# mine\n${cert.trim()}${cert}`);
  expect(await readCertificates(bundle)).toBe(cert + cert);
  writeFileSync(bundle, cert + cert.replace(/^MII./m, "AAAA"));
  await expect(readCertificates(bundle)).rejects.toThrow(/certificate 2 in .*bundle\.pem is damaged/);
  await expect(readCertificates(`${certificateFile}.none`)).rejects.toThrow(/cannot read/);
});

it("a certificate from files is rejected with the file's name if one is missing, is not PEM, or does not match the other", async () => {
  const { certificateFile } = await keepSelfSigned(folder, "localhost", NOW);
  const keyOf = (place: string) => join(place, "tls", "self-signed.key");
  await keepSelfSigned(join(folder, "other"), "localhost", NOW);
  for (const [cert, key, reason] of [
    [join(folder, "none.pem"), keyOf(folder), /cannot read .*none\.pem/],
    [keyOf(folder), keyOf(folder), /self-signed\.key holds no PEM certificate/],
    [certificateFile, certificateFile, /holds no PEM private key/],
    [certificateFile, keyOf(join(folder, "other")), /is not that of the certificate/],
  ] as const) {
    await expect(readIdentity(cert, key)).rejects.toThrow(reason);
    await expect(readIdentity(cert, key)).rejects.toThrow(UsageError);
  }
});
