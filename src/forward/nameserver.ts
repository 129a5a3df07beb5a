import { usableAddress } from "../dns/address.ts";

/** The location of a name server: an address for plain DNS (RFC 1035), or the URL of a DNS resource (RFC 8484). */
export type Nameserver =
  | { readonly kind: "plain"; readonly address: string; readonly port: number }
  | { readonly kind: "https"; readonly url: URL };

const DNS_PORT = 53;
const MOST_CHARACTERS = 512;

/**
 * Reads a name server: an IP address, `IPv4:port`, `[IPv6]:port`, or an `https://` URL without user, password
 * and fragment. Undefined for everything else.
 */
export function parseNameserver(text: string): Nameserver | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  if (/^https:\/\//i.test(text)) return parseUrl(text);
  const withPort = /^(?:\[([^\]]*:[^\]]*)\]|([0-9.]+)):([1-9]\d{0,4})$/.exec(text);
  const address = withPort === null ? text : (withPort[1] ?? withPort[2]!);
  const port = withPort === null ? DNS_PORT : Number(withPort[3]);
  if (port > 65535 || usableAddress(address) === undefined) return undefined;
  return { kind: "plain", address, port };
}

function parseUrl(text: string): Nameserver | undefined {
  // The URI template of RFC 8484 section 4.1; queries use POST, which does not need it.
  const plain = text.replace(/\{\?dns\}$/, "");
  if (!URL.canParse(plain) || /[{}\s#]/.test(plain)) return undefined;
  const url = new URL(plain);
  return url.username === "" && url.password === "" ? { kind: "https", url } : undefined;
}
