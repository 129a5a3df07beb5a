import { connect, type DetailedPeerCertificate } from "node:tls";
import { hostOf } from "../dns/address.ts";

/**
 * The action after a failure: `resync` sends the full snapshot, `soon` retries with a growing pause,
 * `person` needs a change by an operator, `content` needs that or another snapshot.
 */
type Remedy = "resync" | "soon" | "person" | "content";

/** A gateway rejected a request, or did not answer. */
export class GatewayError extends Error {
  /** HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** The gateway's code, or `UNREACHABLE`. */
  readonly code: string;
  readonly remedy: Remedy;
  /** The gateway's Retry-After in milliseconds. */
  readonly retryAfter: number;
  /** The generation that the gateway holds, where it says so. */
  readonly currentGeneration: number | undefined;

  constructor(
    message: string,
    {
      status,
      code,
      remedy,
      retryAfter = 0,
      currentGeneration,
      cause,
    }: {
      readonly status?: number;
      readonly code: string;
      readonly remedy: Remedy;
      readonly retryAfter?: number;
      readonly currentGeneration?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.remedy = remedy;
    this.retryAfter = retryAfter;
    this.currentGeneration = currentGeneration;
  }
}

const NEXT_STEPS: ReadonlyMap<number, readonly [Remedy, string]> = new Map([
  [400, ["content", "the gateway cannot read what this version sends; compare the versions of both"]],
  [
    401,
    [
      "person",
      "check the token (--token-file) or the client certificate against the gateway's push.credentials",
    ],
  ],
  [
    403,
    [
      "person",
      "check --cluster-id, and which cluster the gateway's push.credentials have for the token or certificate",
    ],
  ],
  [404, ["person", "check the URL of the gateway (--gateway), up to but without /api/v1"]],
  [405, ["person", "check the URL of the gateway (--gateway), up to but without /api/v1"]],
  [409, ["resync", "the full snapshot follows"]],
  [413, ["content", "the snapshot exceeds the gateway's limits; raise them or export less"]],
  [415, ["content", "the gateway cannot read what this version sends; compare the versions of both"]],
  [422, ["content", "the gateway rejects the named field; correct its object or option"]],
]);

/** The next steps of codes whose status has another one. */
const STEPS_OF_CODES: ReadonlyMap<string, readonly [Remedy, string]> = new Map([
  [
    "CLUSTER_NOT_LIVE",
    [
      "resync",
      "the worker pushes the cluster's own snapshot first; --control=plan and programs that only read never do",
    ],
  ],
  [
    "OTHER_INSTANCE",
    [
      "person",
      "stop the worker that should not push this cluster, or give it another --cluster-id; this one is tried again, and taken once the other one's lease expired",
    ],
  ],
  ["HTTPS_REQUIRED", ["person", "begin the URL of the gateway (--gateway) with https://"]],
  [
    "LEASE_OUT_OF_RANGE",
    [
      "person",
      "choose --lease in this range, or change lease.minimumSeconds or lease.maximumSeconds of the gateway",
    ],
  ],
]);

/** The error for a response that is not a 2xx; the message has the next step. @param name the gateway as messages show it */
export function rejectionOf(name: string, status: number, text: string, retryAfter: number): GatewayError {
  let code = `HTTP_${status}`;
  let message = text.slice(0, 200);
  let currentGeneration: number | undefined;
  try {
    const error = JSON.parse(text) as { code?: unknown; message?: unknown; details?: unknown } | null;
    currentGeneration = generationIn(error?.details);
    if (typeof error?.code === "string") code = error.code;
    if (typeof error?.message === "string") message = error.message;
  } catch {
    // From a proxy in front of the gateway: the message quotes its text.
  }
  const redirect = status >= 300 && status < 400;
  const [remedy, step] = redirect
    ? (["person", "redirects are not followed; give the URL of the gateway itself (--gateway)"] as const)
    : (STEPS_OF_CODES.get(code) ?? NEXT_STEPS.get(status) ?? (["soon", "trying again"] as const));
  return new GatewayError(`${name} answered ${status} ${code}: ${message}; next step: ${step}`, {
    status,
    code,
    remedy,
    retryAfter,
    currentGeneration,
  });
}

/** What the details of a mismatch say: null where nothing is held. */
function generationIn(details: unknown): number | undefined {
  const { currentGeneration } = (details ?? {}) as { readonly currentGeneration?: unknown };
  return Number.isInteger(currentGeneration) ? (currentGeneration as number) : undefined;
}

/** A server certificate that the worker rejects: `code` of the log, and the text with the next step. */
interface CertificateFailure {
  readonly code: "CERTIFICATE_UNTRUSTED" | "CERTIFICATE_NAME_MISMATCH" | "CERTIFICATE_EXPIRED";
  readonly message: string;
}

/** OpenSSL's names for a chain that does not end at a trusted certificate, as Node.js has them in `error.code`. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
]);
const LOOK_TIMEOUT = 5000;

/**
 * Explains why the worker rejects the certificate of a gateway; undefined if that is not the cause of the failure.
 * @param origin of the gateway; the function connects to it once more to read the certificate, and sends nothing there
 * @param hasCa whether `--ca-file` is given
 * @param serverName the name that the certificate should have had. Default: that of the address
 */
export async function explainCertificate(
  origin: string,
  hasCa: boolean,
  cause: unknown,
  serverName?: string,
): Promise<CertificateFailure | undefined> {
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string };
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const seen = await lookAt(origin);
    if (serverName !== undefined)
      return {
        code: "CERTIFICATE_NAME_MISMATCH",
        message: `the certificate of ${origin} is for ${namesIn(seen)}, not for ${serverName} (--server-name)`,
      };
    return {
      code: "CERTIFICATE_NAME_MISMATCH",
      message: `the certificate of ${origin} is for ${namesIn(seen)}, not for ${hostOf(new URL(origin))}: set publicUrl (--public-url) of the gateway to ${origin} if the certificate is the gateway's self-signed one, else issue a certificate with this name, or give an address with one of its names (--gateway)`,
    };
  }
  if (code === "CERT_HAS_EXPIRED") {
    const seen = await lookAt(origin);
    const end = seen === undefined ? "" : ` (${seen.valid_to})`;
    return {
      code: "CERTIFICATE_EXPIRED",
      message: `the certificate of ${origin} has expired${end}: renew it; the gateway reads a replaced certificate without a restart`,
    };
  }
  if (!UNTRUSTED.has(code)) return undefined;
  const seen = await lookAt(origin);
  const fingerprint = seen === undefined ? "" : ` Its SHA-256 fingerprint is ${seen.fingerprint256}.`;
  // Behind the semicolon Node.js has a hint about its own options.
  const reason = message?.split(";")[0] ?? String(code);
  const step = hasCa
    ? "the file of --ca-file has neither this certificate nor its authority: replace the file"
    : "give its authority, or the certificate itself if it is self-signed, with --ca-file";
  return {
    code: "CERTIFICATE_UNTRUSTED",
    message: `the worker does not trust the certificate of ${origin} (${reason}): ${step}.${fingerprint}`,
  };
}

/** The certificate that a server presents now; undefined if it cannot be read. */
function lookAt(origin: string): Promise<DetailedPeerCertificate | undefined> {
  const { port } = new URL(origin);
  const host = hostOf(new URL(origin));
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: port === "" ? 443 : Number(port),
      // Server names are no IP addresses (RFC 6066 section 3).
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      // Only to read the certificate that a checked connection has just rejected: nothing is sent, and no answer is used.
      rejectUnauthorized: false,
      timeout: LOOK_TIMEOUT,
    });
    const end = (certificate: DetailedPeerCertificate | undefined) => {
      socket.destroy();
      resolve(certificate?.fingerprint256 === undefined ? undefined : certificate);
    };
    socket.once("secureConnect", () => end(socket.getPeerCertificate(true)));
    for (const event of ["error", "timeout", "close"]) socket.once(event, () => end(undefined));
  });
}

function namesIn(certificate: DetailedPeerCertificate | undefined): string {
  const names = certificate?.subjectaltname;
  if (names === undefined) return certificate === undefined ? "other names" : "no name";
  return names.replaceAll(/(?:DNS|IP Address):/g, "");
}
