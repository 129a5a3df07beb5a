import { connect, type DetailedPeerCertificate } from "node:tls";

/** A server certificate that the worker rejects: `code` of the log, and the text with the next step. */
export interface CertificateFailure {
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
 */
export async function explainCertificate(
  origin: string,
  hasCa: boolean,
  cause: unknown,
): Promise<CertificateFailure | undefined> {
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: string };
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const seen = await lookAt(origin);
    return {
      code: "CERTIFICATE_NAME_MISMATCH",
      message: `the certificate of ${origin} is for ${namesIn(seen)}, not for ${hostOf(origin)}: set publicUrl (--public-url) of the gateway to ${origin} if the certificate is the gateway's self-signed one, else issue a certificate with this name, or give an address with one of its names (--gateway)`,
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
  const host = hostOf(origin);
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

function hostOf(origin: string): string {
  return new URL(origin).hostname.replace(/^\[|\]$/g, "");
}
