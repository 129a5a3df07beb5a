import {
  type AddressRange,
  isInRange,
  parseAddressRanges,
  readSocketAddress,
} from "../../dns/address-range.ts";
import { AccessRejected } from "../access-rejected.ts";
import { BearerTable, bearerToken } from "../bearer-table.ts";
import { type CertificatePattern, describeCertificate, fitsCertificate } from "../certificates.ts";
import type { ClientAddress } from "../client.ts";
import { sha256BySubtle } from "../digests.ts";
import { andThen, type MaybePromise, orElse } from "../maybe-promise.ts";
import type { AccessRules, Admission, Admitted } from "../rule.ts";
import { SecretTable } from "../secret-table.ts";
import { readHostToken, readPathToken } from "../url-tokens.ts";
import type { AdmitSettings, RuleCredentials, ShownRequest } from "./admit-settings.ts";
import { PasswordTable } from "./password-table.ts";
import { type KnownKinds, knownKinds, Rejections } from "./rejections.ts";

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
