const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a token fits into a host name: one label in lower case (RFC 1035 section 2.3.1), since clients fold its letters. */
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
