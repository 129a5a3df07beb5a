import * as z from "zod";
import { createCredentials } from "../../access/credentials.ts";
import { type FetchKeys, inlineKeys, isKeysUrl, type KeySource, RemoteKeys } from "../../access/oidc-keys.ts";
import { createPushAuthority, type PushAuthority } from "../../access/push-authority.ts";
import type { Grants } from "../../merge/grants.ts";
import { ClusterId } from "../../snapshot/schema.ts";

/** SHA-256 of a token in hex, as `clusterset-doh token` prints it. */
export const TokenSha256 = z.string().regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits");

/** For which other source clusters the ServiceImports of a cluster count. */
export const SpeaksFor = z.union([z.literal("*"), z.array(ClusterId).max(10_000)], {
  error: 'must be "*" or a list of cluster ids',
});

const Jwks = z.strictObject({
  keys: z
    .array(
      z.looseObject({
        kty: z.enum(["RSA", "EC", "OKP"], { error: "must be RSA, EC or OKP: a public key" }),
        d: z
          .undefined({ error: "is a private key: take it away, and let the issuer make a new one" })
          .optional(),
      }),
    )
    .min(1)
    .max(100),
});

const text = z.string().min(1).max(1000);
const KeysUrl = z.string().refine(isKeysUrl, "must be an https URL (http on this machine only)");

const KEY_SOURCES = ["jwks", "jwksUri", "discovery"] as const;

/** What every host takes of the tokens of an issuer: exactly one place of its keys. */
const oidc = {
  issuer: text,
  /** Another one than that of the cluster's own API server: a token for the one must not be of use at the other. */
  audience: text.default("clusterset-doh"),
  subject: z.union([text, z.array(text).min(1).max(100)]),
  jwks: Jwks.optional(),
  jwksUri: KeysUrl.optional(),
  discovery: z.literal(true).optional(),
};

const count = (credential: object, keys: readonly string[]) =>
  keys.filter((key) => (credential as Record<string, unknown>)[key] !== undefined).length;

const isDiscoverable = ({
  discovery,
  issuer,
}: {
  readonly discovery?: true | undefined;
  readonly issuer: string;
}) => discovery === undefined || isKeysUrl(issuer);
const NOT_DISCOVERABLE = "needs an issuer that is an https URL: give jwks or jwksUri otherwise";

/** `oidc` where there are no files. */
const Oidc = z
  .strictObject(oidc)
  .refine((value) => count(value, KEY_SOURCES) === 1, "must have one of jwks, jwksUri and discovery")
  .refine(isDiscoverable, { error: NOT_DISCOVERABLE, path: ["discovery"] });

/** `oidc` where there are files, too. */
const OidcWithFiles = z
  .strictObject({
    ...oidc,
    /** The keys as `kubectl get --raw /openid/v1/jwks` writes them; read again when it changes. */
    jwksFile: text.optional(),
    /** Authorities to trust for `jwksUri` and `discovery` instead of the system's. */
    caFile: text.optional(),
    /** The token that the URL asks for. */
    tokenFile: text.optional(),
  })
  .refine(
    (value) => count(value, [...KEY_SOURCES, "jwksFile"]) === 1,
    "must have one of jwks, jwksFile, jwksUri and discovery",
  )
  .refine(
    (value) => count(value, ["caFile", "tokenFile"]) === 0 || count(value, ["jwksUri", "discovery"]) === 1,
    "has caFile and tokenFile for jwksUri and discovery only",
  )
  .refine(isDiscoverable, { error: NOT_DISCOVERABLE, path: ["discovery"] });

const Certificate = z
  .strictObject({
    san: text.optional(),
    fingerprintSha256: z
      .string()
      .regex(
        /^(?:[0-9a-f]{2}:?){31}[0-9a-f]{2}$/i,
        "must be 32 octets in hex, as openssl x509 -fingerprint -sha256 prints them",
      )
      .optional(),
  })
  .refine((value) => count(value, ["san", "fingerprintSha256"]) > 0, "must have san or fingerprintSha256");

const KINDS = ["tokenSha256", "tokenFile", "oidc", "certificate"] as const;

/** An entry of `push.credentials` of `clusterset-doh serve`: who may write one cluster. */
export const PushCredential = z
  .strictObject({
    clusterId: ClusterId,
    tokenSha256: TokenSha256.optional(),
    tokenFile: text.optional(),
    oidc: OidcWithFiles.optional(),
    certificate: Certificate.optional(),
    speaksFor: SpeaksFor.optional(),
  })
  .refine(
    (value) => count(value, KINDS) === 1,
    "must have one of tokenSha256, tokenFile, oidc and certificate",
  );
export type PushCredential = z.infer<typeof PushCredential>;

/** The same where there are neither files nor client certificates. */
export const EdgePushCredential = z
  .strictObject({
    clusterId: ClusterId,
    tokenSha256: TokenSha256.optional(),
    oidc: Oidc.optional(),
    speaksFor: SpeaksFor.optional(),
  })
  .refine((value) => count(value, ["tokenSha256", "oidc"]) === 1, "must have one of tokenSha256 and oidc");
export type EdgePushCredential = z.infer<typeof EdgePushCredential>;

/** The grants of all credentials: those of one cluster are put together, whichever of them it pushes with. */
export function grantsOf(
  credentials: readonly {
    readonly clusterId: string;
    readonly speaksFor?: z.infer<typeof SpeaksFor> | undefined;
  }[],
): Grants {
  const grants = new Map<string, "*" | Set<string>>();
  for (const { clusterId, speaksFor } of credentials) {
    if (speaksFor === undefined) continue;
    const before = grants.get(clusterId);
    if (speaksFor === "*" || before === "*") grants.set(clusterId, "*");
    else grants.set(clusterId, new Set([...(before ?? []), ...speaksFor]));
  }
  return grants;
}

/** What keys of an issuer are fetched with. */
export interface KeysAccess {
  readonly fetch?: FetchKeys;
  readonly onFailure?: (url: string, error: unknown) => void;
}

/** The keys of an issuer that are given, or that are fetched; undefined where they are somewhere else. */
export function keySourceOf(
  { issuer, jwks, jwksUri, discovery }: z.infer<typeof Oidc>,
  access: KeysAccess,
): KeySource | undefined {
  if (jwks !== undefined) return inlineKeys(jwks);
  if (jwksUri !== undefined) return new RemoteKeys({ ...access, url: jwksUri, discovery: false });
  return discovery === true ? new RemoteKeys({ ...access, url: issuer, discovery: true }) : undefined;
}

/** The authority of a host without files. */
export function createEdgeAuthority(
  credentials: readonly EdgePushCredential[],
  access: KeysAccess,
): PushAuthority {
  return createPushAuthority({
    secrets: createCredentials(
      credentials.flatMap(({ clusterId, tokenSha256 }) =>
        tokenSha256 === undefined ? [] : { clusterId, tokenSha256 },
      ),
    ),
    oidc: credentials.flatMap(({ clusterId, oidc: issued }) =>
      issued === undefined
        ? []
        : {
            clusterId,
            issuer: issued.issuer,
            audience: issued.audience,
            subjects: [issued.subject].flat(),
            keys: keySourceOf(issued, access)!,
          },
    ),
  });
}
