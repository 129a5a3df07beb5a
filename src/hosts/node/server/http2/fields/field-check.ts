/** Bytes of names: tokens of RFC 9110 section 5.6.2 without upper case (RFC 9113 section 8.2.1). */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** RFC 9113 section 8.2.1: NUL, LF and CR are nowhere in a value, and space and tab not at its ends. */
const WRONG_VALUE = /[\0\n\r]|^[ \t]|[ \t]$/;

/** Fields of a connection of HTTP/1.1 (RFC 9113 section 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Why HTTP/2 does not allow a field, whatever the message (RFC 9113 section 8.2); undefined if it does. */
export function checkField(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return "a field name has a byte that no name may have";
  if (WRONG_VALUE.test(value)) return "a field value has a byte that no value may have, or space at its ends";
  if (OF_CONNECTIONS.has(name) || (name === "te" && value !== "trailers"))
    return "a field belongs to connections of HTTP/1.1";
  return undefined;
}
