import type { AccessRejected } from "../access-rejected.ts";
import type { ClientCertificate } from "../client.ts";
import type { NotAdmitted } from "../rule.ts";
import type { RuleCredentials } from "./admit-settings.ts";

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
