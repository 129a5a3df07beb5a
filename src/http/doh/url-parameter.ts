const PERCENT = 0x25;
const EQUALS = 0x3d;

/**
 * The value of one query parameter of a URL, still percent-encoded; the first if there are
 * two. It reads the text of the URL, because `new URL()` takes longer than the answer to a query.
 * The name may be percent-encoded in the URL: `d%6Es` names the same parameter as `dns` (RFC 3986 section 6.2.2.2).
 */
export function rawParameter(url: string, name: string): string | undefined {
  const question = url.indexOf("?");
  if (question === -1) return undefined;
  const hash = url.indexOf("#", question);
  const end = hash === -1 ? url.length : hash;
  let start = question + 1;
  while (start <= end) {
    let next = url.indexOf("&", start);
    if (next === -1 || next > end) next = end;
    const after = endOfName(url, start, name);
    if (after !== -1) {
      if (url.charCodeAt(after) === EQUALS && after < next) return url.slice(after + 1, next);
      if (after === next) return "";
    }
    start = next + 1;
  }
  return undefined;
}

/** The index after `name`, which may be percent-encoded, at `start`; -1 if the text there is different. `name` has ASCII letters only. */
function endOfName(url: string, start: number, name: string): number {
  let at = start;
  for (let index = 0; index < name.length; index++) {
    let code = url.charCodeAt(at++);
    if (code === PERCENT) {
      code = Number.parseInt(url.slice(at, at + 2), 16);
      at += 2;
    }
    if (code !== name.charCodeAt(index)) return -1;
  }
  return at;
}

/**
 * The decoded value of one query parameter (`+` is a space, as HTML forms write it).
 * @throws {URIError} if the percent-encoding is malformed
 */
export function parameter(url: string, name: string): string | undefined {
  const raw = rawParameter(url, name);
  return raw === undefined ? undefined : decodeURIComponent(raw.replaceAll("+", " "));
}
