const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Whether a token fits into a host name: one label in lower case (RFC 1035 section 2.3.1), since clients fold
 * its letters.
 */
export function isHostToken(token: string): boolean {
  return LABEL.test(token);
}

/**
 * Reads the token of the host `<token>.<name>`, letters folded; undefined if there is none.
 * @param host the host of a request, with or without a port (RFC 9110 section 7.2)
 * @param names in lower case, without a trailing dot
 */
export function readHostToken(host: string, names: readonly string[]): string | undefined {
  const plain = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  for (const name of names) {
    if (!plain.endsWith(`.${name}`)) continue;
    const label = plain.slice(0, -name.length - 1);
    if (isHostToken(label)) return label;
  }
  return undefined;
}

/** A URL with a token before its path. */
interface PathToken {
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

/** A value, or a promise of it. A value that is already there is used in the same turn of the event loop. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Calls `next` with a value; in the same turn if the value is there. */
export function andThen<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** A value; the result of `next` if it is undefined. */
export function orElse<Value>(
  value: MaybePromise<Value | undefined>,
  next: () => MaybePromise<Value>,
): MaybePromise<Value> {
  return andThen(value, (known) => known ?? next());
}
