import * as z from "zod";
import { type Grants, SERVICE_PATTERN } from "../merge/grants.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../merge/visibility.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { FileName, need, oneOf } from "./hosts.ts";
import { issuerSettings } from "./issuer.ts";
import { AddressRangeText, Certificate, CredentialName, TokenSha256, text, ZoneName } from "./values.ts";

/** The limits on rules. Each visibility has generations of its own. */
const MOST_RULES = 1000;
const MOST_SCOPES = 32;

const Namespace = z
  .string()
  .regex(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/, "must be the name of a namespace (RFC 1123 label)");

/** A visibility; absent members do not restrict it. */
const Scope = z
  .strictObject({
    view: ClusterId.optional(),
    namespaces: z.array(Namespace).min(1).max(10_000).optional(),
    clusters: z.array(ClusterId).min(1).max(10_000).optional(),
    addressSources: z
      .array(z.enum(["ClusterSetIP", "LoadBalancer", "Endpoint", "ClusterIP"]))
      .min(1)
      .max(4)
      .optional(),
    addressRanges: z.array(AddressRangeText).min(1).max(1000).optional(),
    /** Domains of CNAME targets. */
    targets: z.array(ZoneName).max(1000).optional(),
  })
  .refine(({ view, clusters }) => view === undefined || clusters?.includes(view) !== false, {
    error: "must be one of clusters",
    path: ["view"],
  });

/** RFC 7617 section 2: no colon, no control characters. */
const Username = z
  .string()
  .max(255)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters on purpose
  .regex(/^[^:\x00-\x1f\x7f]*$/, "must have neither a colon nor control characters");

/** A token by its hash, or in a file that is read again when it changes. */
const token = { tokenSha256: TokenSha256.optional(), tokenFile: FileName };
const TOKEN_KINDS = Object.keys(token);

const Token = z.strictObject(token).check(oneOf(TOKEN_KINDS));
export type Token = z.infer<typeof Token>;

/** The token of a secondary. */
export const TransferCredential = z
  .strictObject({ name: CredentialName.optional(), ...token })
  .check(oneOf(TOKEN_KINDS));

const subject = z.union([text, z.array(text).min(1).max(100)]);

const some = <Value extends z.ZodType>(value: Value) => z.array(value).min(1).max(100).optional();

/** The rule admits clients with one of its credentials. */
const RuleSettings = z.strictObject({
  /** The name in metrics, and for references from listeners. */
  name: z
    .string()
    .regex(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/, "must be letters, digits and dashes, such as office-2")
    .refine((name) => name !== "public", "is the name of the public rule: choose another"),
  addresses: z.array(AddressRangeText).min(1).max(1000).optional(),
  scope: Scope.prefault({}),
  bearer: some(Token),
  basic: some(
    z
      .strictObject({ username: Username, passwordSha256: TokenSha256.optional(), passwordFile: FileName })
      .check(oneOf(["passwordSha256", "passwordFile"])),
  ),
  pathTokens: some(Token),
  hostTokens: some(Token),
  certificates: need("sockets", some(Certificate)),
  oidc: some(
    issuerSettings({
      subject: subject.optional(),
      /** Claims that the token must have, each with one of these values. */
      claims: z.record(text, subject).optional(),
    }),
  ),
});

/** The settings that select an issuer's tokens, and the place of its keys. */
export type IssuedTokens = NonNullable<z.infer<typeof RuleSettings>["oidc"]>[number];

/** The kinds of credentials of a rule. */
export const KINDS = [
  "bearer",
  "basic",
  "pathTokens",
  "hostTokens",
  "certificates",
  "oidc",
  "addresses",
] as const;

/** The error of a rule without credentials. */
export const ADMITS_NO_CLIENT = `admits no client: give one of ${KINDS.join(", ")}`;

/** `access`: which clients get answers, and what is visible to them (docs/how-to/access.md). */
export const Access = z
  .strictObject({
    /** The visibility of the public rule: everything, a scope, or no such rule. */
    public: z.union([z.boolean(), Scope], "must be true, false, or a scope").optional(),
    /** Tokens of `hostTokens` are the label before one of these. */
    hostNames: z.array(ZoneName).max(100).default([]),
    rules: z.array(RuleSettings).max(MOST_RULES).default([]),
  })
  .superRefine((access, context) => {
    const tell = (message: string, ...path: (string | number)[]) =>
      context.addIssue({ code: "custom", message, path });
    const names = new Set<string>();
    const keys = new Set(publicScope(access) === undefined ? [] : [visibilityKey(publicScope(access)!)]);
    for (const [index, { name, scope, hostTokens }] of access.rules.entries()) {
      if (names.has(name)) tell(`is the name of another rule, too: ${name}`, "rules", index, "name");
      names.add(name);
      keys.add(visibilityKey(scope));
      if (hostTokens !== undefined && access.hostNames.length === 0)
        tell("needs hostNames: the names that tokens stand before", "rules", index, "hostTokens");
    }
    if (keys.size > MOST_SCOPES)
      tell(`has ${keys.size} different scopes, and at most ${MOST_SCOPES} can be kept`, "rules");
  });
export type Access = z.infer<typeof Access>;
export type RuleSettings = Access["rules"][number];

/** Whether the configuration states which clients get answers. */
export function isStated({
  public: everybody,
  rules,
}: Pick<Access, "public"> & { rules: readonly unknown[] }) {
  return everybody !== undefined || rules.length > 0;
}

/** The visibility of the public rule; undefined if there is no such rule. */
export function publicScope(
  access: Pick<Access, "public"> & { rules: readonly unknown[] },
): Visibility | undefined {
  const { public: everybody = !isStated(access) } = access;
  if (typeof everybody === "boolean") return everybody ? EVERYTHING : undefined;
  return everybody;
}

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

/** An entry of `push.credentials`, or of PUSH_CREDENTIALS: a credential for writing one cluster. */
export const PushCredential = z
  .strictObject({
    name: CredentialName.optional(),
    clusterId: ClusterId,
    ...token,
    oidc: issuerSettings({ subject }).optional(),
    certificate: need("sockets", Certificate.optional()),
    speaksFor: SpeaksFor.optional(),
    exports: Exports.optional(),
    /** Whether the cluster may read what the gateway desires in it, and what exists for it there. */
    control: need("processes", z.union([z.boolean(), Scope], "must be true, false, or a scope").optional()),
    /** By which addresses other clusters reach its endpoints. */
    reach: need("processes", z.enum(["pods", "loadBalancers", "nodes"]).optional()),
  })
  .refine(({ clusterId, control }) => typeof control !== "object" || isVisible(clusterId, control), {
    error: "must not hide the cluster itself: add it to clusters, and leave view out",
    path: ["control"],
  })
  .check(oneOf(["tokenSha256", "tokenFile", "oidc", "certificate"]));
export type PushCredential = z.infer<typeof PushCredential>;

function isVisible(clusterId: string, { view, clusters }: Visibility): boolean {
  return (view ?? clusterId) === clusterId && clusters?.includes(clusterId) !== false;
}

/** The grants by cluster: those of all its credentials together, whichever it pushes with. */
export function grantsOf(credentials: readonly Pick<PushCredential, "clusterId" | "speaksFor">[]): Grants {
  const grants = new Map<string, "*" | Set<string>>();
  for (const { clusterId, speaksFor } of credentials) {
    if (speaksFor === undefined) continue;
    const before = grants.get(clusterId);
    if (speaksFor === "*" || before === "*") grants.set(clusterId, "*");
    else grants.set(clusterId, new Set([...(before ?? []), ...speaksFor]));
  }
  return grants;
}

/**
 * The allowed exports by cluster: the lists of all its credentials together. A cluster without a list may
 * export anything.
 */
export function exportLimitsOf(
  credentials: readonly Pick<PushCredential, "clusterId" | "exports">[],
): ReadonlyMap<string, readonly string[]> {
  const limits = new Map<string, readonly string[]>();
  for (const { clusterId, exports } of credentials)
    if (exports !== undefined) limits.set(clusterId, [...(limits.get(clusterId) ?? []), ...exports]);
  return limits;
}
