import * as z from "zod";
import type { Grants } from "../../merge/grants.ts";
import { SERVICE_PATTERN } from "../../merge/pins.ts";
import type { Visibility } from "../../merge/visibility/visibility.ts";
import { ClusterId } from "../../snapshot/schema.ts";
import { Certificate, CredentialName, countOf, TokenSha256, text } from "../values.ts";
import { Scope } from "./access.ts";
import { issuerSettings } from "./issuer.ts";

/** The other source clusters for which a cluster's ServiceImports count. */
export const SpeaksFor = z.union([z.literal("*"), z.array(ClusterId).max(10_000)], {
  error: 'must be "*" or a list of cluster ids',
});

/** A namespace, or `<namespace>/<name>`, with `*`. */
export const ServicePattern = z
  .string()
  .regex(SERVICE_PATTERN, "must be NAMESPACE or NAMESPACE/SERVICE, with * for any characters");

/** What a cluster may export. */
export const Exports = z.array(ServicePattern).max(10_000);

const { edge: Oidc, files: OidcWithFiles } = issuerSettings({
  subject: z.union([text, z.array(text).min(1).max(100)]),
});

const KINDS = ["tokenSha256", "tokenFile", "oidc", "certificate"] as const;

/** An entry of `push.credentials` of `clusterset-doh serve`: a credential for writing one cluster. */
export const PushCredential = z
  .strictObject({
    name: CredentialName.optional(),
    clusterId: ClusterId,
    tokenSha256: TokenSha256.optional(),
    tokenFile: text.optional(),
    oidc: OidcWithFiles.optional(),
    certificate: Certificate.optional(),
    speaksFor: SpeaksFor.optional(),
    exports: Exports.optional(),
    /** Whether the cluster may read what the gateway desires in it, and what exists for it there. */
    control: z.union([z.boolean(), Scope], "must be true, false, or a scope").optional(),
    /** By which addresses other clusters reach its endpoints. */
    reach: z.enum(["pods", "loadBalancers", "nodes"]).optional(),
  })
  .refine(({ clusterId, control }) => typeof control !== "object" || isVisible(clusterId, control), {
    error: "must not hide the cluster itself: add it to clusters, and leave view out",
    path: ["control"],
  })
  .refine(
    (value) => countOf(value, KINDS) === 1,
    "must have one of tokenSha256, tokenFile, oidc and certificate",
  );
export type PushCredential = z.infer<typeof PushCredential>;

function isVisible(clusterId: string, { view, clusters }: Visibility): boolean {
  return (view ?? clusterId) === clusterId && clusters?.includes(clusterId) !== false;
}

/** The entry for hosts without files and client certificates. */
export const EdgePushCredential = z
  .strictObject({
    name: CredentialName.optional(),
    clusterId: ClusterId,
    tokenSha256: TokenSha256.optional(),
    oidc: Oidc.optional(),
    speaksFor: SpeaksFor.optional(),
    exports: Exports.optional(),
  })
  .refine((value) => countOf(value, ["tokenSha256", "oidc"]) === 1, "must have one of tokenSha256 and oidc");
export type EdgePushCredential = z.infer<typeof EdgePushCredential>;

/** The grants by cluster: those of all its credentials together, whichever it pushes with. */
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

/** The allowed exports by cluster: the lists of all its credentials together. A cluster without a list may export anything. */
export function exportLimitsOf(
  credentials: readonly { readonly clusterId: string; readonly exports?: readonly string[] | undefined }[],
): ReadonlyMap<string, readonly string[]> {
  const limits = new Map<string, readonly string[]>();
  for (const { clusterId, exports } of credentials)
    if (exports !== undefined) limits.set(clusterId, [...(limits.get(clusterId) ?? []), ...exports]);
  return limits;
}
