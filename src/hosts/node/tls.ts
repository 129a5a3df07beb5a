import { constants, createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import type { SecureContextOptions, TLSSocket, TlsOptions } from "node:tls";
import { namesInCertificate } from "../../config/own-names.ts";
import type { ServeConfig } from "../../config/settings.ts";
import { canonical, UsageError } from "../../config/values.ts";
import { readText, WatchedFiles, writeDurably } from "./files.ts";

/** A certificate and its key in PEM. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

/** The certificates of a server. */
export interface ServerTls extends TlsIdentity {
  /**
   * Certificates in PEM of the authorities that issue client certificates; undefined if the server requests
   * none.
   */
  readonly clientCa?: string;
  /**
   * The keys of session tickets, 48 bytes, so that a session resumes on any thread. Default: each server
   * makes its own.
   */
  readonly ticketKeys?: Uint8Array;
}

/** The TLS options of a server: TLS 1.2 and 1.3, without renegotiation (RFC 9113 section 9.2.1). */
export function secureContext({ cert, key, clientCa, ticketKeys }: ServerTls): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: "TLSv1.2",
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(clientCa !== undefined && { ca: clientCa }),
    ...(ticketKeys !== undefined && { ticketKeys: Buffer.from(ticketKeys) }),
  };
}

const DAY = 86_400_000;
/** Apple's systems reject server certificates that are valid for longer than 825 days. */
const VALID_DAYS = 397;
const RENEW_BEFORE_DAYS = 30;

/**
 * The self-signed certificate of a state folder. A new one is made if there is none, if it expires within 30
 * days, or if it does not name `host`. One that is not valid yet stays: before a machine has the time, its
 * clock is behind.
 * @param now Unix milliseconds
 * @param alsoNamed further names and addresses in the certificate
 */
export async function keepSelfSigned(
  stateDirectory: string,
  host: string | undefined,
  now: number,
  alsoNamed: readonly string[] = [],
): Promise<TlsIdentity & { readonly certificateFile: string }> {
  const directory = join(stateDirectory, "tls");
  const certificateFile = join(directory, "self-signed.crt");
  const keyFile = join(directory, "self-signed.key");
  const named = [...(host === undefined ? [] : [host]), ...alsoNamed];
  const kept = await readIdentity(certificateFile, keyFile).catch(() => undefined);
  if (kept !== undefined && isUsable(kept, named, now)) return { ...kept, certificateFile };
  const made = await makeSelfSigned(named, now);
  // An absolute path: below a deleted working directory mkdir would try for ever.
  await mkdir(resolve(directory), { recursive: true, mode: 0o700 });
  await writeDurably(keyFile, made.key);
  await writeDurably(certificateFile, made.cert, 0o644);
  return { ...made, certificateFile };
}

/**
 * Reads a certificate chain and its key.
 * @throws {UsageError} with the file that cannot be read, or that does not match the other file
 */
export async function readIdentity(certificateFile: string, keyFile: string): Promise<TlsIdentity> {
  const cert = await readText(certificateFile);
  const key = await readText(keyFile);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    throw new UsageError(`${certificateFile} holds no PEM certificate: ${(error as Error).message}`);
  }
  try {
    if (certificate.checkPrivateKey(createPrivateKey(key))) return { cert, key };
  } catch (error) {
    throw new UsageError(`${keyFile} holds no PEM private key: ${(error as Error).message}`);
  }
  throw new UsageError(`the key in ${keyFile} is not that of the certificate in ${certificateFile}`);
}

/**
 * Reads the certificates of a PEM file and ignores other text.
 * @returns the certificates only, separated by line breaks
 * @throws {UsageError} if the file cannot be read, has no certificate, or a damaged one
 */
export async function readCertificates(file: string): Promise<string> {
  const text = await readText(file);
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new UsageError(`${file} holds no PEM certificate`);
  for (const [index, certificate] of found.entries())
    try {
      new X509Certificate(certificate);
    } catch (error) {
      throw new UsageError(`certificate ${index + 1} in ${file} is damaged: ${(error as Error).message}`);
    }
  return `${found.join("\n")}\n`;
}

/** The SHA-256 of a certificate in PEM as OpenSSL writes it: `AB:CD:…`. */
export function fingerprintOf(cert: string): string {
  return new X509Certificate(cert).fingerprint256;
}

/** When the first certificate of a chain in PEM expires, in Unix milliseconds. */
export function expiryOf(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

/**
 * What is wrong with the first certificate of a chain in PEM that has expired; undefined while it has not.
 * @param now Unix milliseconds
 */
export function describeExpired(cert: string, now: number): string | undefined {
  const expiry = expiryOf(cert);
  if (expiry > now) return undefined;
  return `the certificate expired at ${new Date(expiry).toISOString()}, no client accepts it: replace it and its key`;
}

/** Whether a certificate in PEM is for this name or address. */
function isCertificateFor(cert: string, host: string): boolean {
  const certificate = new X509Certificate(cert);
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function isUsable({ cert }: TlsIdentity, named: readonly string[], now: number): boolean {
  const certificate = new X509Certificate(cert);
  if (Date.parse(certificate.validTo) - now < RENEW_BEFORE_DAYS * DAY) return false;
  return named.every((host) => isCertificateFor(cert, host));
}

async function makeSelfSigned(named: readonly string[], now: number): Promise<TlsIdentity> {
  const names = new Set(["localhost", ...named.filter((host) => isIP(host) === 0)]);
  const addresses = new Set(["127.0.0.1", "::1", ...named.filter((host) => isIP(host) !== 0)]);
  const subject = [
    { name: "commonName", value: named[0] ?? "localhost" },
    // OpenSSL finds an issuer by its name: two gateways of one name could not both be trusted.
    { name: "organizationName", value: `clusterset-doh ${randomBytes(8).toString("hex")}` },
  ];
  // A gateway with a certificate does without: it takes 130 ms of CPU time to load, in each thread.
  const { generate } = await import("selfsigned");
  const made = await generate(subject, {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    notBeforeDate: new Date(now - DAY),
    notAfterDate: new Date(now + VALID_DAYS * DAY),
    extensions: [
      // Firefox rejects a CA certificate as a server's own.
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          ...[...names].map((value) => ({ type: 2 as const, value })),
          ...[...addresses].map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });
  return { cert: `${made.cert.trimEnd()}\n`, key: made.private };
}

/** The source of a server's certificates, which may change while it runs. */
export type TlsSource = NonNullable<Awaited<ReturnType<typeof openTlsSource>>>;

/**
 * The source that the config names; undefined without TLS.
 * @param host that the gateway listens on; undefined, and `0.0.0.0` and `::`, for every address
 * @throws {UsageError} if certificates cannot be read, or the server's does not name the designated resolver
 */
export async function openTlsSource(
  config: Pick<ServeConfig, "tls" | "stateDirectory" | "publicUrl" | "dns" | "dot" | "ddr" | "access">,
  host: string | undefined,
) {
  const { tls, stateDirectory, ddr } = config;
  if (tls === false) return undefined;
  const isEvery = host === "0.0.0.0" || host === "::";
  const { certificateFile, keyFile, clientCaFile } = tls === true ? {} : tls;
  // Made anew at a start alone: clients trust the one that is in use, and the clock may be set.
  const selfSigned =
    certificateFile === undefined || keyFile === undefined
      ? await keepSelfSigned(
          stateDirectory,
          isEvery ? undefined : host,
          Date.now(),
          namesInCertificate(config),
        )
      : undefined;
  const read = async (): Promise<ServerTls> => {
    const identity = selfSigned ?? (await readIdentity(certificateFile!, keyFile!));
    if (ddr.name !== undefined && !isCertificateFor(identity.cert, canonical(ddr.name)))
      throw new UsageError(
        `ddr.name: the certificate in ${certificateFile} is not for ${ddr.name}, so no client would believe it`,
      );
    return clientCaFile === undefined
      ? identity
      : { ...identity, clientCa: await readCertificates(clientCaFile) };
  };
  const files = new WatchedFiles();
  const current = await files.watch(read, (tls) => tls);
  return {
    /** The certificates in use: those of the start, until `refresh` finds others. */
    get tls(): ServerTls {
      return current();
    },
    /** The file of a self-signed certificate, which clients need in order to trust it. */
    selfSignedFile: selfSigned?.certificateFile,
    /** @returns whether they changed @throws {UsageError} if they cannot be read */
    refresh: () => files.refresh(),
  };
}

/**
 * Negotiates the first of these protocols that the client offers (RFC 7301); a client that offers none of
 * them is rejected. Node's `ALPNProtocols` does the same, but copies the list for each connection into a part
 * of a buffer of 64 KiB, and holds that for as long as the connection lives.
 */
export function negotiate(supported: readonly string[]): Pick<TlsOptions, "ALPNCallback"> {
  return { ALPNCallback: ({ protocols }) => supported.find((protocol) => protocols.includes(protocol)) };
}

/**
 * Whether a request is for another server.
 * @param authority the host that it names, with its port if it has one
 */
export type IsMisdirected = (socket: TLSSocket, authority: string) => boolean;

/**
 * Finds requests that belong to another server. A client of HTTP/2 uses one connection for several hosts if
 * they have one address and the certificate covers them (RFC 9113 section 9.1.1). Where a balancer chooses
 * the server by the name in the handshake, and several servers share a wildcard certificate, the request
 * reaches the wrong one (RFC 9110 section 7.4). If no wildcard covers the host, no such client sent the
 * request.
 * @param names those of the gateway, in lower case; `*.` stands for one label. Without a name no host is
 * known to be another one
 */
export function misdirectedFrom(names: readonly string[]): IsMisdirected | undefined {
  const known = new Set(names.filter((name) => isIP(name) === 0));
  if (known.size === 0) return undefined;
  return (socket, authority) => {
    const { servername } = socket;
    // A handshake for an address has no name.
    if (!servername || isAt(authority, servername)) return false;
    const host = authority.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
    if (known.has(host) || known.has(host.replace(/^[^.]+/, "*"))) return false;
    const certificate = socket.getX509Certificate();
    if (certificate?.checkHost(host, { wildcards: false }) !== undefined) return false;
    return certificate?.checkHost(host) !== undefined;
  };
}

const COLON = 0x3a;

function isAt(authority: string, host: string): boolean {
  const { length } = host;
  return (
    authority.startsWith(host) && (authority.length === length || authority.charCodeAt(length) === COLON)
  );
}
