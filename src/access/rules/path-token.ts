/** A URL with a token before its path. */
export interface PathToken {
  readonly token: string;
  /** The part before the path proper: `/tokens/<token>`. */
  readonly prefix: string;
  /** The URL without the prefix. */
  readonly url: string;
}

const PREFIX = "/tokens/";
/** Unreserved characters (RFC 3986 section 2.3), which no intermediary encodes. */
const TOKEN = /^[A-Za-z0-9\-._~]{1,255}$/;

/** Whether a token fits into a path. */
export function isPathToken(token: string): boolean {
  return TOKEN.test(token);
}

/**
 * Reads the token of `/tokens/<token>/<path>`; undefined if there is none. Nothing is decoded.
 * @param url a path with its query, or a whole URL
 */
export function readPathToken(url: string): PathToken | undefined {
  // Behind the slashes of the scheme.
  const start = url.startsWith("/") ? 0 : url.indexOf("/", 8);
  if (start === -1 || !url.startsWith(PREFIX, start)) return undefined;
  const begin = start + PREFIX.length;
  const rest = /[/?#]/.exec(url.slice(begin));
  const end = rest === null ? url.length : begin + rest.index;
  const token = url.slice(begin, end);
  if (!isPathToken(token)) return undefined;
  const path = url.slice(end);
  return {
    token,
    prefix: url.slice(start, end),
    url: `${url.slice(0, start)}${path.startsWith("/") ? "" : "/"}${path}`,
  };
}
