import { isInRange, parseAddressRanges, readSocketAddress } from "../dns/address.ts";
import type { ClientAddress, ClientCertificate, ClientRequest } from "./client.ts";
import {
  AccessRejected,
  type CertificateIdentity,
  type CertificatePattern,
  describeCertificate,
  fitsCertificate,
  UNTRUSTED_CERTIFICATE,
} from "./client.ts";
import type { CredentialMemory } from "./memory.ts";
import type { OidcCredential } from "./oidc.ts";
import { type AccessRules, type Admission, type Admitted, type NotAdmitted, RULE_STATUS } from "./rule.ts";
import {
  BearerTable,
  bearerToken,
  readBasicCredentials,
  SecretTable,
  type Sha256,
  sha256BySubtle,
} from "./secrets.ts";
import { andThen, type MaybePromise, orElse, readHostToken, readPathToken } from "./url-tokens.ts";

/** Finds the rule of a request; without a promise if nothing has to be fetched or hashed. */
export type Admit = (request: ShownRequest) => MaybePromise<Admission>;

/** The access rules of a gateway, and the function that finds a request's rule. */
export interface AccessControl {
  readonly rules: AccessRules;
  /** The kinds of credentials that the rules have. */
  readonly kinds: KnownKinds;
  readonly admit: Admit;
  /** Finds the client's real address behind proxies. */
  readonly clientAddress: ClientAddress;
}

/**
 * Admits requests by rules, in this order: a token in the path, a token in the host name, an Authorization
 * field of a scheme that a rule has, the client certificate, the address, the public rule. A wrong
 * Authorization field is rejected, whatever else the request has. An unknown token in path or host name is
 * ignored: such a request is answered like one for any other path or host.
 * @throws {RangeError} if a secret is not a SHA-256, or for an invalid address
 */
export function createAdmit(settings: AdmitSettings): Admit {
  const { rules, credentials, clock, memory, sha256 = sha256BySubtle } = settings;
  const open: Admitted | undefined = rules.public && { rule: rules.public };
  if (open !== undefined && !credentials.some(showsAnything)) return () => open;

  const each = <Value>(read: (rule: RuleCredentials) => readonly Value[] | undefined) =>
    credentials.flatMap((shown) => {
      const admitted: Admitted = { rule: rules.of(shown.name) };
      return (read(shown) ?? []).map((value) => [admitted, value] as const);
    });
  const tokens = new BearerTable({
    secrets: each(({ bearer }) => bearer).map(([holder, tokenSha256]) => ({ holder, tokenSha256 })),
    oidc: each(({ oidc }) => oidc).map(([holder, credential]) => ({ ...credential, holder })),
    setting: "access.rules",
    sha256,
    ...(clock !== undefined && { clock }),
  });
  const pathTokens = new SecretTable(each((rule) => rule.pathTokens));
  const hostTokens = new SecretTable(each((rule) => rule.hostTokens));
  const passwords = new BearerTable({
    secrets: each(({ basic }) => basic).map(([admitted, { username, passwordSha256 }]) => ({
      holder: { admitted, username: username.normalize("NFC") },
      tokenSha256: passwordSha256,
    })),
    setting: "access.rules",
    sha256,
  });
  const certificates = each((rule) => rule.certificates);
  const addresses = each((rule) => rule.addresses && parseAddressRanges(rule.addresses));
  const kinds = knownKinds(credentials);
  const digestOf = (text: string) => sha256(new TextEncoder().encode(text));

  const byPath = ({ url }: ShownRequest): MaybePromise<Admitted | undefined> => {
    const path = pathTokens.size === 0 ? undefined : readPathToken(url);
    if (path === undefined) return undefined;
    return andThen(digestOf(path.token), (digest) => {
      const admitted = pathTokens.find(digest);
      return admitted && { ...admitted, path };
    });
  };

  const byHost = ({ host }: ShownRequest): MaybePromise<Admitted | undefined> => {
    const token = hostTokens.size === 0 ? undefined : readHostToken(host, settings.hostNames);
    if (token === undefined) return undefined;
    return andThen(digestOf(token), (digest) => {
      const admitted = hostTokens.find(digest);
      return admitted && { ...admitted, isByHost: true };
    });
  };

  /** With a public rule the token may be that of a cluster that pushes, which decides the query's view. */
  const unknownToken = (why: Why = UNKNOWN_TOKEN): Admission =>
    open !== undefined && settings.publicHasTokens
      ? open
      : notAdmitted(kinds, "unknown", why, `${BEARER}, error="invalid_token"`);

  const byToken = (authorization: string): MaybePromise<Admission> => {
    const firstOf = ([admitted]: Iterable<Admitted> = []) => admitted ?? unknownToken();
    const refuse = (error: unknown): Admission => {
      if (error instanceof AccessRejected) return unknownToken(error);
      throw error;
    };
    try {
      const token = bearerToken(authorization);
      if (token === undefined) return unknownToken();
      const holders = tokens.holdersOf(token);
      return holders instanceof Promise ? holders.then(firstOf, refuse) : firstOf(holders);
    } catch (error) {
      return refuse(error);
    }
  };

  /** Names are compared only after a password fits, so the time reveals nothing about passwords. */
  const byPassword = (authorization: string): MaybePromise<Admission> => {
    const given = readBasicCredentials(authorization);
    return andThen(given && passwords.holdersOf(given.password), (holders) => {
      const holder = [...(holders ?? [])].find(({ username }) => username === given?.username);
      return holder?.admitted ?? notAdmitted(kinds, "unknown", UNKNOWN_PASSWORD);
    });
  };

  /** Undefined if there is no field of a scheme that a rule has. */
  const byAuthorization = (request: ShownRequest): MaybePromise<Admission | undefined> => {
    const { bearer, basic } = kinds;
    const authorization = bearer || basic ? request.header("authorization") : null;
    if (authorization === null) return undefined;
    const { client } = request;
    const remembered = memory?.find(client, authorization);
    if (remembered !== undefined) return remembered;
    if (bearer && /^bearer(?: |$)/i.test(authorization)) {
      const admission = byToken(authorization);
      if (!(admission instanceof Promise) && admission.rule !== undefined && tokens.hasSecretsOnly)
        memory?.keep(client, authorization, admission);
      return admission;
    }
    if (!basic || !/^basic(?: |$)/i.test(authorization)) return undefined;
    return byPassword(authorization);
  };

  const byConnection = (request: ShownRequest): Admission => {
    const shown = certificates.length === 0 ? undefined : request.client;
    const identity = shown?.certificate === "verified" ? shown.certificateIdentity : undefined;
    if (identity !== undefined)
      for (const [admitted, pattern] of certificates) if (fitsCertificate(pattern, identity)) return admitted;
    if (addresses.length > 0) {
      const address = readSocketAddress(settings.clientAddress(request) ?? "");
      if (address !== undefined)
        for (const [admitted, range] of addresses) if (isInRange(address, range)) return admitted;
    }
    return open ?? nothingKnown(kinds, shown, identity);
  };

  return (request) =>
    orElse(byPath(request), () =>
      orElse(byHost(request), () => orElse(byAuthorization(request), () => byConnection(request))),
    );
}

function showsAnything({ name: _, ...shown }: RuleCredentials): boolean {
  return Object.values(shown).some((list) => list !== undefined && list.length > 0);
}

/** The parts of a request that decide its rule. */
export interface ShownRequest extends ClientRequest {
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** The requested host, with its port if it has one; empty if the client names no host. */
  readonly host: string;
}

/** The credentials of a rule's clients. Secrets are SHA-256 in hex. */
export interface RuleCredentials {
  readonly name: string;
  readonly bearer?: readonly string[] | undefined;
  readonly basic?: readonly { readonly username: string; readonly passwordSha256: string }[] | undefined;
  readonly pathTokens?: readonly string[] | undefined;
  readonly hostTokens?: readonly string[] | undefined;
  readonly certificates?: readonly CertificatePattern[] | undefined;
  readonly oidc?: readonly Omit<OidcCredential<unknown>, "holder">[] | undefined;
  /** `10.0.0.0/8`, `::1`. */
  readonly addresses?: readonly string[] | undefined;
}

/** The settings of admission. */
export interface AdmitSettings {
  readonly rules: AccessRules;
  readonly credentials: readonly RuleCredentials[];
  /** The gateway's host names, in lower case, without a trailing dot. */
  readonly hostNames: readonly string[];
  /** Whether the public rule accepts bearer tokens of clusters that push. */
  readonly publicHasTokens: boolean;
  /** Finds the client's real address. */
  readonly clientAddress: ClientAddress;
  /** Default: that of `crypto.subtle`. */
  readonly sha256?: Sha256;
  /** Of connections, as long as these credentials are valid. Default: nothing is remembered. */
  readonly memory?: CredentialMemory;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
}

/** Which kinds of credentials the rules have. */
export interface KnownKinds {
  readonly bearer: boolean;
  readonly basic: boolean;
  readonly certificates: boolean;
  /** Credentials that are in no header field and no URL: certificates, addresses. */
  readonly unseen: boolean;
}

export function knownKinds(rules: readonly RuleCredentials[]): KnownKinds {
  const some = (kind: keyof RuleCredentials) => rules.some((rule) => (rule[kind]?.length ?? 0) > 0);
  const certificates = some("certificates");
  return {
    bearer: some("bearer") || some("oidc"),
    basic: some("basic"),
    certificates,
    unseen: certificates || some("addresses"),
  };
}

const BEARER = 'Bearer realm="clusterset-doh"';
/** RFC 7617 section 2.1. */
const BASIC = 'Basic realm="clusterset-doh", charset="UTF-8"';

/** Why a request is not admitted. */
type Why = Pick<NotAdmitted, "code" | "message">;

const UNKNOWN_TOKEN: Why = { code: "UNKNOWN_TOKEN", message: "the gateway does not know this bearer token" };
const UNKNOWN_PASSWORD: Why = {
  code: "UNKNOWN_PASSWORD",
  message: "the gateway does not know this user name and password",
};

/**
 * The error for a request that no rule admits; a 401 has challenges for the schemes that rules have.
 * @param bearer the challenge of the scheme Bearer (RFC 6750 section 3.1)
 */
function notAdmitted(
  kinds: KnownKinds,
  outcome: NotAdmitted["outcome"],
  { code, message }: Why,
  bearer = BEARER,
): NotAdmitted {
  const status = RULE_STATUS[code];
  const challenges = [kinds.bearer && bearer, kinds.basic && BASIC].filter((one) => one !== false);
  return { outcome, status, code, message, challenge: status === 401 ? challenges.join(", ") : undefined };
}

/**
 * The error for a request without a credential, or with a certificate that no rule names.
 * @param identity of a verified certificate
 */
function nothingKnown(
  kinds: KnownKinds,
  shown: ClientCertificate | undefined,
  identity: CertificateIdentity | undefined,
): NotAdmitted {
  if (identity !== undefined)
    return notAdmitted(kinds, "unknown", {
      code: "UNKNOWN_CERTIFICATE",
      message: `no rule is for the client certificate with ${describeCertificate(identity)}: add one to the gateway's access.rules`,
    });
  if (shown?.certificate === "refused")
    return notAdmitted(kinds, "unknown", { code: "CERTIFICATE_REFUSED", message: UNTRUSTED_CERTIFICATE });
  const ways = [kinds.bearer && "a bearer token", kinds.basic && "a user name and password"].filter(
    (way) => way !== false,
  );
  const [code, lacks]: [Why["code"], string] =
    ways.length > 0
      ? ["TOKEN_REQUIRED", `: an Authorization field with ${ways.join(", or ")} is required`]
      : kinds.certificates
        ? ["CERTIFICATE_REQUIRED", ": a client certificate is required"]
        : ["NOT_ADMITTED", ", and this request has no credential"];
  return notAdmitted(kinds, "missing", { code, message: `this gateway answers known clients only${lacks}` });
}
