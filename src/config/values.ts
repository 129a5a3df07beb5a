import * as z from "zod";
import { parseAddressRange, usableAddress } from "../dns/address.ts";

/** A whole number. */
export const count = (least: number, most: number) => z.int().min(least).max(most);

/** A text that a user chose. */
export const text = z.string().min(1).max(1000);

/** The number of keys that a value has. */
export const countOf = (value: object, keys: readonly string[]) =>
  keys.filter((key) => (value as Record<string, unknown>)[key] !== undefined).length;

/** An IP address in text that a record can hold. */
export const IpAddress = z
  .string()
  .refine((text) => usableAddress(text) !== undefined, "must be an IP address such as 192.0.2.1");

export const AddressRangeText = z
  .string()
  .refine(
    (text) => parseAddressRange(text) !== undefined,
    "must be a range of addresses such as 10.0.0.0/8, fd00::/8 or 127.0.0.1",
  );

/**
 * Networks whose addresses cannot be forged from the Internet: loopback, private and link-local (RFC 6890).
 */
export const NEAR_NETWORKS = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "::1",
  "fc00::/7",
  "fe80::/10",
];

/** A zone's name in text, the trailing dot optional. */
export const ZoneName = z
  .string()
  .max(200)
  .regex(
    /^[A-Za-z0-9_](?:[-A-Za-z0-9_]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*\.?$/,
    "must be a domain name such as clusterset.example.org",
  );

/** A name without its trailing dot, in lower case. */
export function canonical(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}

/** SHA-256 in hex, as `clusterset-doh token` prints it. */
export const TokenSha256 = z.string().regex(/^[0-9A-Fa-f]{64}$/, "must be 64 hex digits");

/** The name of a credential in the audit log. */
export const CredentialName = z
  .string()
  .regex(/^[^\p{C}]{1,100}$/u, "must be 1 to 100 characters without control characters");

/** A client certificate by a subject alternative name, by its fingerprint, or by both. */
export const Certificate = z
  .strictObject({
    san: text.optional(),
    fingerprintSha256: z
      .string()
      .regex(
        /^(?:[0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$/,
        "must be 32 bytes in hex, as openssl x509 -fingerprint -sha256 prints them",
      )
      .optional(),
  })
  .refine((value) => countOf(value, ["san", "fingerprintSha256"]) > 0, "must have san or fingerprintSha256");

/** One wrong key of a configuration. */
export interface ConfigIssue {
  readonly path: readonly PropertyKey[];
  /** The key as text: `lease.minimumSeconds`, `push.credentials[0]`; empty for the whole configuration. */
  readonly key: string;
  readonly message: string;
  readonly isUnknown?: boolean;
}

/**
 * All wrong keys; unknown ones are listed one by one, and of a union those of the alternative that has the
 * type of the value.
 */
export function listIssues(error: z.ZodError): ConfigIssue[] {
  return error.issues.flatMap((issue) => issuesOf(issue, []));
}

function issuesOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): ConfigIssue[] {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      ...describe([...path, key], "this key does not exist"),
      isUnknown: true,
    }));
  if (issue.code === "invalid_union") {
    const fitting = issue.errors.filter((issues) => issues.every((one) => !isOfOtherType(one)));
    if (fitting.length === 1) return fitting[0]!.flatMap((one) => issuesOf(one, path));
  }
  return [describe(path, issue.message)];
}

function isOfOtherType({ code, path }: z.core.$ZodIssue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

function describe(path: readonly PropertyKey[], message: string): ConfigIssue {
  const key = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return { path, key: key.replace(/^\./, ""), message };
}

/** The address of a listener. An undefined `host` means every address of the machine. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Reads `HOST:PORT`, `[IPv6]:PORT` or `:PORT` (every address); port 0 takes a free one.
 * @throws {UsageError} for any other text
 */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535)
    throw new UsageError(
      `${JSON.stringify(text)} is not an address to listen on: HOST:PORT such as localhost:8443, [::1]:8443, or :8443 for every address`,
    );
  return { host: match[1] ?? (match[2] || undefined), port };
}

/** Writes an address in the form that `parseListenAddress` reads. */
export function formatListenAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A user's mistake: its message is complete, and no stack is printed. */
export class UsageError extends Error {
  readonly code = "USAGE";
}
