import type { Visibility } from "../merge/visibility.ts";
import {
  AccessRejected,
  type CertificateIdentity,
  type CertificatePattern,
  type ClientCertificate,
  type ClusterTokens,
  describeCertificate,
  fitsCertificate,
  UNTRUSTED_CERTIFICATE,
} from "./client.ts";
import { BearerTable, type BearerTableSettings, bearerToken } from "./secrets.ts";

/** The holder of a credential for pushing or for transfer. */
export interface Holder {
  /** The name that the operator gave the credential. */
  readonly credential: string;
  /** The cluster that the holder may write; undefined for a secondary. */
  readonly clusterId?: string | undefined;
  /** What exists for the cluster in its desired state; undefined for a holder that may not read it. */
  readonly control?: Visibility | undefined;
}

/** The credentials of clusters, or of secondaries. */
export interface AuthoritySettings extends Omit<BearerTableSettings<Holder>, "setting"> {
  readonly certificates?: readonly (CertificatePattern & { readonly holder: Holder })[];
  /** Default: `push.credentials`. */
  readonly setting?: string;
}

/** Identifies the sender of a request. */
export interface Authority {
  /**
   * @param shown the client certificate of the connection; undefined if there is none
   * @returns at least one holder of the request's credential
   * @throws {AccessRejected} if the request has no known credential
   */
  identify(
    authorization: string | undefined,
    shown: ClientCertificate | undefined,
  ): Promise<ReadonlySet<Holder>>;
}

/** Decides whether a request may write a cluster. */
export interface PushAuthority extends Authority, ClusterTokens {
  /** @throws {AccessRejected} if the request has no known credential, or that of another cluster */
  authorize(
    authorization: string | undefined,
    shown: ClientCertificate | undefined,
    clusterId: string,
  ): Promise<Holder>;
  /** Whether a certificate belongs to a holder. */
  isOfHolder(identity: CertificateIdentity): boolean;
}

/**
 * The authority over pushes, or over transfer: bearer secrets, tokens of issuers and client certificates. If
 * a request has an Authorization field, that alone decides: a valid certificate does not help a wrong token.
 * @throws {RangeError} if a secret is not a SHA-256
 */
export function createAuthority(settings: AuthoritySettings): PushAuthority {
  const { certificates = [], setting = "push.credentials" } = settings;
  const tokens = new BearerTable({ ...settings, setting });

  const identify: Authority["identify"] = async (authorization, shown) => {
    const token = bearerToken(authorization);
    if (token === undefined) return holdersOfCertificate(certificates, shown, setting);
    const holders = await tokens.holdersOf(token);
    if (holders === undefined)
      throw new AccessRejected("UNKNOWN_TOKEN", "the gateway does not know this bearer token");
    return holders;
  };

  return {
    identify,
    async authorize(authorization, shown, clusterId) {
      const holders = [...(await identify(authorization, shown))];
      const holder = holders.find((one) => one.clusterId === clusterId);
      if (holder !== undefined) return holder;
      throw new AccessRejected(
        "OTHER_CLUSTER",
        `the credential belongs to another cluster than "${clusterId}"`,
        holders[0]?.credential,
      );
    },
    async clustersOf(authorization) {
      try {
        const token = bearerToken(authorization);
        if (token === undefined) return undefined;
        const holders = [...((await tokens.holdersOf(token)) ?? [])];
        return new Set(holders.flatMap(({ clusterId }) => clusterId ?? []));
      } catch (error) {
        if (error instanceof AccessRejected) return new Set();
        throw error;
      }
    },
    isOfHolder: (identity) => certificates.some((pattern) => fitsCertificate(pattern, identity)),
  };
}

/** @throws {AccessRejected} if there is no certificate, or if it belongs to no holder */
function holdersOfCertificate(
  certificates: NonNullable<AuthoritySettings["certificates"]>,
  shown: ClientCertificate | undefined,
  setting: string,
): ReadonlySet<Holder> {
  const status = certificates.length === 0 ? "none" : (shown?.certificate ?? "none");
  const identity = status === "verified" ? shown?.certificateIdentity : undefined;
  if (identity !== undefined) {
    const fitting = certificates.filter((pattern) => fitsCertificate(pattern, identity));
    if (fitting.length > 0) return new Set(fitting.map(({ holder }) => holder));
    throw new AccessRejected(
      "UNKNOWN_CERTIFICATE",
      `no credential is for the client certificate with ${describeCertificate(identity)}: add one to the gateway's ${setting}`,
    );
  }
  if (status === "refused") throw new AccessRejected("CERTIFICATE_REFUSED", UNTRUSTED_CERTIFICATE);
  throw new AccessRejected(
    "TOKEN_REQUIRED",
    certificates.length === 0
      ? "the request has no bearer token: send one in an Authorization field"
      : "the request has no bearer token and no client certificate: send a token in an Authorization field, or a certificate",
  );
}
