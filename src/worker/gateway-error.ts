import { once } from "node:events";
import { isIP } from "node:net";
import { connect, type DetailedPeerCertificate } from "node:tls";
import { hostOf } from "../dns/address.ts";
import { openSocket } from "../outgoing/dispatcher.ts";

/**
 * The action after a failure: `resync` sends the full snapshot, `soon` retries with a growing pause,
 * `person` needs a change by an operator, `content` needs that or another snapshot.
 */
type Remedy = "resync" | "soon" | "person" | "content";

/** A gateway rejected a request, or did not answer. */
export class GatewayError extends Error {
  /** HTTP status; undefined without an answer. */
  declare readonly status?: number;
  /** The gateway's code, or `UNREACHABLE`. */
  declare readonly code: string;
  declare readonly remedy: Remedy;
  /** The gateway's Retry-After in milliseconds. */
  declare readonly retryAfter?: number;
  /** The generation that the gateway holds, where it says so. */
  declare readonly currentGeneration?: number | undefined;

  constructor(message: string, rejection: Omit<GatewayError, keyof Error>, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, rejection);
  }
}

const CANNOT_READ = "the gateway cannot read what this version sends; compare the versions of both";
const CHECK_URL = "check the URL of the gateway (--gateway), up to but without /api/v1";

/** By code, else by status. */
const NEXT_STEPS: Readonly<Record<Exclude<Remedy, "soon">, Readonly<Record<string | number, string>>>> = {
  resync: {
    409: "the full snapshot follows",
    CLUSTER_NOT_LIVE:
      "the worker pushes the cluster's own snapshot first; --control=plan and programs that only read never do",
  },
  person: {
    401: "check the token (--token-file) or the client certificate against the gateway's push.credentials",
    403: "check --cluster-id, and which cluster the gateway's push.credentials have for the token or certificate",
    404: CHECK_URL,
    405: CHECK_URL,
    OTHER_INSTANCE:
      "stop the worker that should not push this cluster, or give it another --cluster-id; this one is tried again, and taken once the other one's lease expired",
    HTTPS_REQUIRED: "begin the URL of the gateway (--gateway) with https://",
    LEASE_OUT_OF_RANGE:
      "choose --lease in this range, or change lease.minimumSeconds or lease.maximumSeconds of the gateway",
  },
  content: {
    400: CANNOT_READ,
    413: "the snapshot exceeds the gateway's limits; raise them or export less",
    415: CANNOT_READ,
    422: "the gateway rejects the named field; correct its object or option",
  },
};

function nextStepOf(code: string, status: number): readonly [Remedy, string] {
  if (status >= 300 && status < 400)
    return ["person", "redirects are not followed; give the URL of the gateway itself (--gateway)"];
  for (const key of [code, status])
    for (const [remedy, steps] of Object.entries(NEXT_STEPS))
      if (Object.hasOwn(steps, key)) return [remedy as Remedy, steps[key]!];
  return ["soon", "trying again"];
}

/** What a response that is not a 2xx says. */
export function readRejection(status: number, text: string) {
  let code = `HTTP_${status}`;
  let message = text.trim().slice(0, 300);
  let currentGeneration: number | undefined;
  try {
    const error = JSON.parse(text) as {
      code?: unknown;
      message?: unknown;
      details?: { currentGeneration?: unknown } | null;
    } | null;
    // null where nothing is held.
    const generation = error?.details?.currentGeneration;
    if (Number.isInteger(generation)) currentGeneration = generation as number;
    if (typeof error?.code === "string") code = error.code;
    if (typeof error?.message === "string") message = error.message;
  } catch {
    // From a gateway to a client that takes no JSON, or from a proxy: the message quotes its text.
  }
  return { code, message, currentGeneration };
}

/**
 * The error of a worker for a response that is not a 2xx; the message has the next step.
 * @param name the gateway as messages show it
 */
export function rejectionOf(name: string, status: number, text: string, retryAfter: number): GatewayError {
  const { code, message, currentGeneration } = readRejection(status, text);
  const [remedy, step] = nextStepOf(code, status);
  const rejection = { status, code, remedy, retryAfter, currentGeneration };
  return new GatewayError(`${name} answered ${status} ${code}: ${message}; next step: ${step}`, rejection);
}

/** A server certificate that the worker rejects: `code` of the log, and the text with the next step. */
interface CertificateFailure {
  readonly code: "CERTIFICATE_UNTRUSTED" | "CERTIFICATE_NAME_MISMATCH" | "CERTIFICATE_EXPIRED";
  readonly message: string;
}

/**
 * OpenSSL's names for a chain that does not end at a trusted certificate, as Node.js has them in
 * `error.code`.
 */
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
 * Explains why a client rejects the certificate of a gateway; undefined if that is not the cause of the
 * failure.
 * @param origin of the gateway; the function connects to it once more to read the certificate, and sends
 * nothing there
 * @param hasCa whether `--ca-file` is given
 * @param serverName the name that the certificate should have had. Default: that of the address
 */
export async function explainCertificate(
  origin: string,
  hasCa: boolean,
  cause: unknown,
  serverName?: string,
): Promise<CertificateFailure | undefined> {
  const { code, message, cert } = (cause ?? {}) as {
    readonly code?: unknown;
    readonly message?: string;
    /** Of an error of names. */
    readonly cert?: DetailedPeerCertificate;
  };
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const [host, names] = [hostOf(new URL(origin)), namesIn(cert)];
    const instead =
      serverName === undefined
        ? `${host}: set publicUrl (--public-url) of the gateway to ${origin} if the certificate is the gateway's self-signed one, else issue a certificate with this name, or give an address with one of its names`
        : `${serverName} (--server-name)`;
    return {
      code: "CERTIFICATE_NAME_MISMATCH",
      message: `the certificate of ${origin} is for ${names}, not for ${instead}`,
    };
  }
  if (code === "CERT_HAS_EXPIRED") {
    const seen = await lookAt(origin, serverName);
    const end = seen === undefined ? "" : ` (${seen.valid_to})`;
    return {
      code: "CERTIFICATE_EXPIRED",
      message: `the certificate of ${origin} has expired${end}: renew it; the gateway reads a replaced certificate without a restart`,
    };
  }
  if (!UNTRUSTED.has(code)) return undefined;
  const seen = await lookAt(origin, serverName);
  const fingerprint = seen === undefined ? "" : ` Its SHA-256 fingerprint is ${seen.fingerprint256}.`;
  // Behind the semicolon Node.js has a hint about its own options.
  const reason = message?.split(";")[0] ?? String(code);
  const step = hasCa
    ? "the file of --ca-file has neither this certificate nor its authority: replace the file"
    : "give its authority, or the certificate itself if it is self-signed, with --ca-file";
  return {
    code: "CERTIFICATE_UNTRUSTED",
    message: `the certificate of ${origin} is not trusted (${reason}): ${step}.${fingerprint}`,
  };
}

/** The certificate that a server presents now; undefined if it cannot be read. */
async function lookAt(
  origin: string,
  serverName: string | undefined,
): Promise<DetailedPeerCertificate | undefined> {
  const host = hostOf(new URL(origin));
  const signal = AbortSignal.timeout(LOOK_TIMEOUT);
  try {
    const inner = await openSocket(new URL(origin), LOOK_TIMEOUT);
    const socket = connect({
      socket: inner,
      // Server names are no IP addresses (RFC 6066 section 3).
      servername: serverName ?? (isIP(host) === 0 ? host : ""),
      // Only to read the certificate that a checked connection has just rejected: nothing is sent, and no
      // answer is used.
      rejectUnauthorized: false,
    });
    try {
      await once(socket, "secureConnect", { signal });
      return socket.getPeerCertificate(true);
    } finally {
      socket.destroy();
      inner.destroy();
    }
  } catch {
    return undefined;
  }
}

function namesIn(certificate: DetailedPeerCertificate | undefined): string {
  const names = certificate?.subjectaltname;
  if (names === undefined) return certificate === undefined ? "other names" : "no name";
  return names.replaceAll(/(?:DNS|IP Address):/g, "");
}
