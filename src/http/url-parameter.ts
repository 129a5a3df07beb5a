/**
 * The value of one query parameter of a URL, still percent-encoded; the first where it is given
 * twice. Reads the text of the URL: a query is answered faster than `new URL()` parses one.
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
    if (url.startsWith(name, start)) {
      const after = start + name.length;
      if (url.charCodeAt(after) === 0x3d && after < next) return url.slice(after + 1, next);
      if (after === next) return "";
    }
    start = next + 1;
  }
  return undefined;
}

/**
 * The decoded value of one query parameter (`+` is a space, as HTML forms write it).
 * @throws {URIError} where the percent-encoding is malformed
 */
export function parameter(url: string, name: string): string | undefined {
  const raw = rawParameter(url, name);
  return raw === undefined ? undefined : decodeURIComponent(raw.replaceAll("+", " "));
}
