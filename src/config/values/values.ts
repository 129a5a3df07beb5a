import * as z from "zod";
import { usableAddress } from "../../dns/address.ts";
import { parseAddressRange } from "../../dns/address-range.ts";

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

/** Networks whose addresses cannot be forged from the Internet: loopback, private and link-local (RFC 6890). */
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
  .regex(
    /^(?=.{1,200}$)[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)*\.?$/i,
    "must be a domain name such as clusterset.example.org",
  );

/** SHA-256 in hex, as `clusterset-doh token` prints it. */
export const TokenSha256 = z.string().regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits");

/** The name of a credential in the audit log. */
export const CredentialName = z
  .string()
  .regex(/^[^\p{C}]{1,100}$/u, "must be 1 to 100 characters without control characters");

/** A token by its hash, for hosts without files. */
export const HashedToken = z.strictObject({ tokenSha256: TokenSha256 });

const hasOne = ({ tokenSha256, tokenFile }: { tokenSha256?: unknown; tokenFile?: unknown }) =>
  (tokenSha256 === undefined) !== (tokenFile === undefined);

/** A token by its hash, or in a file that is read again when it changes. */
export const TokenOrFile = z
  .strictObject({ tokenSha256: TokenSha256.optional(), tokenFile: z.string().min(1).optional() })
  .refine(hasOne, "must have one of tokenSha256 and tokenFile");

export type TokenOrFile = z.infer<typeof TokenOrFile>;

/** The token of a secondary. */
export const TransferCredential = z
  .strictObject({
    name: CredentialName.optional(),
    tokenSha256: TokenSha256.optional(),
    tokenFile: z.string().min(1).optional(),
  })
  .refine(hasOne, "must have one of tokenSha256 and tokenFile");

/** A client certificate by a subject alternative name, by its fingerprint, or by both. */
export const Certificate = z
  .strictObject({
    san: text.optional(),
    fingerprintSha256: z
      .string()
      .regex(
        /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i,
        "must be 32 bytes in hex, as openssl x509 -fingerprint -sha256 prints them",
      )
      .optional(),
  })
  .refine((value) => countOf(value, ["san", "fingerprintSha256"]) > 0, "must have san or fingerprintSha256");
