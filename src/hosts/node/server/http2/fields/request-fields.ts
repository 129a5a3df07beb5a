/** What HTTP/2 says of a request beside its other fields (RFC 9113 section 8.3.1). */
export interface RequestLine {
  readonly method: string;
  /** Empty for CONNECT. */
  readonly scheme: string;
  /** `:authority`, or else the Host field; empty if there is neither. */
  readonly authority: string;
  /** Empty for CONNECT. */
  readonly path: string;
  /** Undefined if the request does not say it. */
  readonly contentLength: number | undefined;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DIGITS = /^\d{1,15}$/;

/**
 * Reads the fields of a request: names and values in turn, each of which is valid by itself.
 * @returns a text that says why the request is malformed (sections 8.1.1, 8.3 and 8.5)
 */
export function readRequestLine(fields: readonly string[]): RequestLine | string {
  let method: string | undefined;
  let scheme: string | undefined;
  let authority: string | undefined;
  let path: string | undefined;
  let host: string | undefined;
  let contentLength: number | undefined;
  let at = 0;
  for (; at < fields.length && fields[at]!.startsWith(":"); at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    if (name === ":path" && path === undefined) path = value;
    else if (name === ":method" && method === undefined) method = value;
    else if (name === ":scheme" && scheme === undefined) scheme = value;
    else if (name === ":authority" && authority === undefined) authority = value;
    else return `${name} is unknown, or is there twice`;
  }
  for (; at < fields.length; at += 2) {
    const name = fields[at]!;
    if (name.startsWith(":")) return `${name} follows other fields`;
    if (name === "content-length") {
      const value = fields[at + 1]!;
      if (!DIGITS.test(value) || (contentLength !== undefined && contentLength !== Number(value)))
        return "content-length is no number, or two numbers";
      contentLength = Number(value);
    } else if (name === "host") {
      if (host !== undefined) return "host is there twice";
      host = fields[at + 1]!;
    }
  }
  if (method === undefined || !TOKEN.test(method)) return ":method is missing, or is no token";
  if (method === "CONNECT") {
    if (scheme !== undefined || path !== undefined || !authority) return "CONNECT has :authority alone";
  } else if (scheme === undefined || path === undefined) return ":scheme or :path is missing";
  else if (!path.startsWith("/") && !(path === "*" && method === "OPTIONS")) return ":path is no path";
  if (authority?.includes("@")) return ":authority has userinfo";
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase())
    return "host is not :authority";
  return {
    method,
    scheme: scheme ?? "",
    authority: authority ?? host ?? "",
    path: path ?? "",
    contentLength,
  };
}

/** Why fields cannot be trailers (section 8.1); undefined if they can. */
export function checkTrailers(fields: readonly string[]): string | undefined {
  for (let at = 0; at < fields.length; at += 2)
    if (fields[at]!.startsWith(":")) return `trailers have ${fields[at]}`;
  return undefined;
}
