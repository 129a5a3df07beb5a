import { type AddressRange, isInRange, parseAddressRanges, readSocketAddress } from "../dns/address.ts";
import type { ClientAddress, ClientCertificate, ClientRequest } from "./client.ts";
import { AccessRejected, type CertificatePattern, describeCertificate, fitsCertificate } from "./client.ts";
import type { CredentialMemory } from "./memory.ts";
import type { OidcCredential } from "./oidc.ts";
import type { AccessRules, Admission, Admitted, NotAdmitted } from "./rule.ts";
import {
  BearerTable,
  bearerToken,
  PasswordTable,
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
 * Admits requests by rules, in this order: a token in the path, a token in the host name, an Authorization field of a scheme
 * that a rule has, the client certificate, the address, the public rule. A wrong Authorization field is rejected, whatever else the request has.
 * An unknown token in path or host name is ignored: such a request is answered like one for any other path or host.
 * @throws {RangeError} if a secret is not a SHA-256, or for an invalid address
 */
export function createAdmit(settings: AdmitSettings): Admit {
  const { rules, credentials } = settings;
  const open = rules.public && { rule: rules.public };
  if (open !== undefined && !credentials.some(showsAnything)) return () => open;
  const table = new RuleTable(settings);
  return (request) => table.admit(request);
}

function showsAnything({ name: _, ...shown }: RuleCredentials): boolean {
  return Object.values(shown).some((list) => list !== undefined && list.length > 0);
}

class RuleTable {
  readonly #settings: AdmitSettings;
  readonly #digest: (text: string) => MaybePromise<Uint8Array>;
  readonly #public: Admitted | undefined;
  readonly #rejections: Rejections;
  readonly #bearer: BearerTable<Admitted>;
  readonly #pathTokens: SecretTable<Admitted>;
  readonly #hostTokens: SecretTable<Admitted>;
  readonly #certificates: readonly (readonly [Admitted, CertificatePattern])[];
  readonly #addresses: readonly (readonly [Admitted, AddressRange])[];
  readonly #passwords: PasswordTable<Admitted>;

  constructor(settings: AdmitSettings) {
    const { rules, credentials, clock, sha256 = sha256BySubtle } = settings;
    this.#settings = settings;
    this.#digest = (text) => sha256(new TextEncoder().encode(text));
    this.#public = rules.public && { rule: rules.public };
    const each = <Value>(read: (rule: RuleCredentials) => readonly Value[] | undefined) =>
      credentials.flatMap((shown) => {
        const admitted = { rule: rules.of(shown.name) };
        return (read(shown) ?? []).map((value) => [admitted, value] as const);
      });
    this.#bearer = new BearerTable({
      secrets: each(({ bearer }) => bearer).map(([holder, tokenSha256]) => ({ holder, tokenSha256 })),
      oidc: each(({ oidc }) => oidc).map(([holder, credential]) => ({ ...credential, holder })),
      setting: "access.rules",
      sha256,
      ...(clock !== undefined && { clock }),
    });
    this.#pathTokens = new SecretTable(each(({ pathTokens }) => pathTokens));
    this.#hostTokens = new SecretTable(each(({ hostTokens }) => hostTokens));
    this.#passwords = new PasswordTable(
      each(({ basic }) => basic),
      sha256,
    );
    this.#certificates = each(({ certificates }) => certificates);
    this.#addresses = each(({ addresses }) => addresses && parseAddressRanges(addresses));
    this.#rejections = new Rejections(knownKinds(credentials));
  }

  admit(request: ShownRequest): MaybePromise<Admission> {
    return orElse(this.#byPath(request), () =>
      orElse(this.#byHost(request), () =>
        orElse(this.#byAuthorization(request), () => this.#byConnection(request)),
      ),
    );
  }

  #byPath({ url }: ShownRequest): MaybePromise<Admitted | undefined> {
    if (this.#pathTokens.size === 0) return undefined;
    const path = readPathToken(url);
    if (path === undefined) return undefined;
    return andThen(this.#digest(path.token), (digest) => {
      const admitted = this.#pathTokens.find(digest);
      return admitted && { ...admitted, path };
    });
  }

  #byHost({ host }: ShownRequest): MaybePromise<Admitted | undefined> {
    if (this.#hostTokens.size === 0) return undefined;
    const token = readHostToken(host, this.#settings.hostNames);
    if (token === undefined) return undefined;
    return andThen(this.#digest(token), (digest) => {
      const admitted = this.#hostTokens.find(digest);
      return admitted && { ...admitted, isByHost: true };
    });
  }

  /** Undefined if there is no field of a scheme that a rule has. */
  #byAuthorization(request: ShownRequest): MaybePromise<Admission | undefined> {
    const { bearer, basic } = this.#rejections.kinds;
    const authorization = bearer || basic ? request.header("authorization") : null;
    if (authorization === null) return undefined;
    const { memory } = this.#settings;
    const { client } = request;
    const remembered = memory?.find(client, authorization);
    if (remembered !== undefined) return remembered;
    if (bearer && /^bearer(?: |$)/i.test(authorization)) {
      const admission = this.#byToken(authorization);
      if (!(admission instanceof Promise) && admission.rule !== undefined && this.#bearer.hasSecretsOnly)
        memory?.keep(client, authorization, admission);
      return admission;
    }
    if (!basic || !/^basic(?: |$)/i.test(authorization)) return undefined;
    return andThen(
      this.#passwords.find(authorization),
      (admitted) => admitted ?? this.#rejections.unknownPassword(),
    );
  }

  #byToken(authorization: string): MaybePromise<Admission> {
    const refuse = (error: unknown): Admission => {
      if (error instanceof AccessRejected) return this.#unknownToken(error);
      throw error;
    };
    try {
      const token = bearerToken(authorization);
      if (token === undefined) return this.#unknownToken();
      const holders = this.#bearer.holdersOf(token);
      if (!(holders instanceof Promise)) return this.#firstOf(holders);
      return holders.then((late) => this.#firstOf(late), refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  #firstOf(holders: ReadonlySet<Admitted> | undefined): Admission {
    const [admitted] = holders ?? [];
    return admitted ?? this.#unknownToken();
  }

  /** With a public rule the token may be that of a cluster that pushes, which decides the query's view. */
  #unknownToken(why?: AccessRejected): Admission {
    if (this.#public !== undefined && this.#settings.publicHasTokens) return this.#public;
    return this.#rejections.unknownToken(why);
  }

  #byConnection(request: ShownRequest): Admission {
    const shown = this.#certificates.length === 0 ? undefined : request.client;
    const identity = shown?.certificate === "verified" ? shown.certificateIdentity : undefined;
    if (identity !== undefined)
      for (const [admitted, pattern] of this.#certificates)
        if (fitsCertificate(pattern, identity)) return admitted;
    if (this.#addresses.length > 0) {
      const address = readSocketAddress(this.#settings.clientAddress(request) ?? "");
      if (address !== undefined)
        for (const [admitted, range] of this.#addresses) if (isInRange(address, range)) return admitted;
    }
    return this.#public ?? this.#rejections.nothingKnown(shown, identity && describeCertificate(identity));
  }
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

/** The errors for requests that no rule admits. */
export class Rejections {
  readonly kinds: KnownKinds;

  constructor(kinds: KnownKinds) {
    this.kinds = kinds;
  }

  /** An unknown bearer token (RFC 6750 section 3.1), with the reason if there is one. */
  unknownToken(why?: AccessRejected): NotAdmitted {
    const { code, message } = why ?? {
      code: "UNKNOWN_TOKEN" as const,
      message: "the gateway does not know this bearer token",
    };
    if (code === "KEYS_UNAVAILABLE") return { outcome: "unknown", status: 503, code, message };
    if (code === "UNKNOWN_SUBJECT") return { outcome: "unknown", status: 403, code, message };
    return this.#unauthorized("unknown", code, message, `${BEARER}, error="invalid_token"`);
  }

  unknownPassword(): NotAdmitted {
    return this.#unauthorized(
      "unknown",
      "UNKNOWN_PASSWORD",
      "the gateway does not know this user name and password",
      BEARER,
    );
  }

  /** A request without a credential, or with a certificate that no rule names; `certificate` describes a verified one. */
  nothingKnown(shown: ClientCertificate | undefined, certificate: string | undefined): NotAdmitted {
    const { bearer, basic } = this.kinds;
    if (certificate !== undefined)
      return {
        outcome: "unknown",
        status: 403,
        code: "UNKNOWN_CERTIFICATE",
        message: `no rule is for the client certificate with ${certificate}: add one to the gateway's access.rules`,
      };
    if (shown?.certificate === "refused")
      return {
        outcome: "unknown",
        status: 403,
        code: "CERTIFICATE_REFUSED",
        message:
          "no authority that this gateway trusts (tls.clientCaFile) issued the client certificate, or the certificate is not valid now",
      };
    if (bearer || basic) {
      const ways = [bearer && "a bearer token", basic && "a user name and password"].filter(
        (way) => way !== false,
      );
      const message = `this gateway answers known clients only: an Authorization field with ${ways.join(", or ")} is required`;
      return this.#unauthorized("missing", "TOKEN_REQUIRED", message, BEARER);
    }
    return {
      outcome: "missing",
      status: 403,
      code: this.kinds.certificates ? "CERTIFICATE_REQUIRED" : "NOT_ADMITTED",
      message: this.kinds.certificates
        ? "this gateway answers known clients only: a client certificate is required"
        : "this gateway answers known clients only, and this request has no credential",
    };
  }

  /** @param bearerChallenge the challenge of the scheme Bearer */
  #unauthorized(
    outcome: NotAdmitted["outcome"],
    code: NotAdmitted["code"],
    message: string,
    bearerChallenge: string,
  ): NotAdmitted {
    const { bearer, basic } = this.kinds;
    const challenge = [bearer && bearerChallenge, basic && BASIC].filter((one) => one !== false).join(", ");
    return { outcome, status: 401, code, message, challenge };
  }
}
