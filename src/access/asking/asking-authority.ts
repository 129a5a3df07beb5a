import {
  type AddressRange,
  isInRange,
  parseAddressRanges,
  readSocketAddress,
} from "../../dns/address-range.ts";
import { AccessRefused } from "../access-refused.ts";
import { type CertificatePattern, describeCertificate, fitsCertificate } from "../certificates.ts";
import { bearerToken } from "../credentials.ts";
import { sha256BySubtle } from "../digests.ts";
import { andThen, type MaybePromise, orElse } from "../maybe-promise.ts";
import { createOidcVerifier } from "../oidc.ts";
import { type Admission, type Admitted, EVERYBODY } from "./admission.ts";
import type { AskingRequest, AskingSettings, RuleCredentials } from "./asking-settings.ts";
import { readHostToken } from "./host-token.ts";
import { PasswordTable } from "./password-table.ts";
import { readPathToken } from "./path-token.ts";
import { knownKinds, Refusals } from "./refusals.ts";
import { SecretTable } from "./secret-table.ts";
import { TokenMemory } from "./token-memory.ts";

/** Says whose answers a request gets. */
export interface AskingAuthority<Request extends AskingRequest> {
  /** At once where nothing has to be waited for. */
  admit(request: Request): MaybePromise<Admission>;
}

/**
 * The authority over who asks. A token in the path decides alone, then one in the host name, then an Authorization field of a scheme
 * that a rule knows: a wrong one is never made good by anything else. Then the client certificate, the address, and what everybody may
 * ask. A token of path or host that is not known counts as none, so that such a request is answered as one for any other path or host.
 * @throws {RangeError} for a secret that is no SHA-256, or an address that is none
 */
export function createAskingAuthority<Request extends AskingRequest>(
  settings: AskingSettings<Request>,
): AskingAuthority<Request> {
  return new Authority(settings);
}

class Authority<Request extends AskingRequest> implements AskingAuthority<Request> {
  readonly #settings: AskingSettings<Request>;
  readonly #digest: (text: string) => MaybePromise<Uint8Array>;
  readonly #everybody: Admitted | undefined;
  readonly #refusals: Refusals;
  readonly #bearer: SecretTable<Admitted>;
  readonly #pathTokens: SecretTable<Admitted>;
  readonly #hostTokens: SecretTable<Admitted>;
  readonly #issued: TokenMemory<Admitted> | undefined;
  readonly #certificates: readonly (readonly [Admitted, CertificatePattern])[];
  readonly #addresses: readonly (readonly [Admitted, AddressRange])[];
  readonly #passwords: PasswordTable<Admitted>;

  constructor(settings: AskingSettings<Request>) {
    const { audiences, rules, clock = Date.now, sha256 = sha256BySubtle } = settings;
    this.#settings = settings;
    this.#digest = (text) => sha256(new TextEncoder().encode(text));
    const { everybody } = audiences;
    this.#everybody = everybody && { rule: EVERYBODY, audience: everybody };
    const each = <Value>(read: (rule: RuleCredentials) => readonly Value[] | undefined) =>
      rules.flatMap((rule) => {
        const admitted = { rule: rule.name, audience: audiences.ofRule(rule.name) };
        return (read(rule) ?? []).map((value) => [admitted, value] as const);
      });
    this.#bearer = new SecretTable(each(({ bearer }) => bearer));
    this.#pathTokens = new SecretTable(each(({ pathTokens }) => pathTokens));
    this.#hostTokens = new SecretTable(each(({ hostTokens }) => hostTokens));
    this.#passwords = new PasswordTable(
      each(({ basic }) => basic),
      sha256,
    );
    this.#certificates = each(({ certificates }) => certificates);
    this.#addresses = each(({ addresses }) => addresses && parseAddressRanges(addresses));
    const oidc = each((rule) => rule.oidc).map(([holder, credential]) => ({ ...credential, holder }));
    if (oidc.length > 0)
      this.#issued = new TokenMemory(createOidcVerifier(oidc, "access.rules", clock), clock);
    this.#refusals = new Refusals(knownKinds(rules));
  }

  admit(request: Request): MaybePromise<Admission> {
    return orElse(this.#byPath(request), () =>
      orElse(this.#byHost(request), () =>
        orElse(this.#byAuthorization(request), () => this.#byConnection(request)),
      ),
    );
  }

  #byPath({ url }: Request): MaybePromise<Admitted | undefined> {
    if (this.#pathTokens.size === 0) return undefined;
    const path = readPathToken(url);
    if (path === undefined) return undefined;
    return andThen(this.#digest(path.token), (digest) => {
      const admitted = this.#pathTokens.find(digest);
      return admitted && { ...admitted, path };
    });
  }

  #byHost({ host }: Request): MaybePromise<Admitted | undefined> {
    if (this.#hostTokens.size === 0) return undefined;
    const token = readHostToken(host, this.#settings.hostNames);
    if (token === undefined) return undefined;
    return andThen(this.#digest(token), (digest) => {
      const admitted = this.#hostTokens.find(digest);
      return admitted && { ...admitted, isByHost: true };
    });
  }

  /** Undefined where there is no field of a scheme that a rule knows. */
  #byAuthorization(request: Request): MaybePromise<Admission | undefined> {
    const { bearer, basic } = this.#refusals.kinds;
    const authorization = bearer || basic ? request.header("authorization") : null;
    if (authorization === null) return undefined;
    if (bearer && /^bearer(?: |$)/i.test(authorization)) return this.#byToken(authorization);
    if (!basic || !/^basic(?: |$)/i.test(authorization)) return undefined;
    return andThen(
      this.#passwords.find(authorization),
      (admitted) => admitted ?? this.#refusals.unknownPassword(),
    );
  }

  #byToken(authorization: string): MaybePromise<Admission> {
    const token = bearerToken(authorization);
    if (token === undefined) return this.#unknownToken();
    return andThen(this.#digest(token), (digest) => {
      const admitted = this.#bearer.find(digest);
      if (admitted !== undefined) return admitted;
      const issued = this.#issued?.holderOf(token, digest);
      if (!(issued instanceof Promise)) return issued ?? this.#unknownToken();
      return issued.then(
        (holder) => holder ?? this.#unknownToken(),
        (error) => {
          if (error instanceof AccessRefused) return this.#unknownToken(error);
          throw error;
        },
      );
    });
  }

  /** It may be one of a cluster that pushes, which everybody's audience knows. */
  #unknownToken(why?: AccessRefused): Admission {
    if (this.#everybody !== undefined && this.#settings.everybodyHasTokens) return this.#everybody;
    return this.#refusals.unknownToken(why);
  }

  #byConnection(request: Request): Admission {
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
    return this.#everybody ?? this.#refusals.nothingKnown(shown, identity && describeCertificate(identity));
  }
}
