/** The namespace for URLs (RFC 9562 section 6.6), 6ba7b811-9dad-11d1-80b4-00c04fd430c8. */
const URL_NAMESPACE = [
  0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8,
];

/** The UUID, version 5, of a URL (RFC 9562 section 5.5), in upper case, as in Apple's profiles. */
export async function nameBasedUuid(url: string): Promise<string> {
  const name = Uint8Array.of(...URL_NAMESPACE, ...new TextEncoder().encode(url));
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", name)).slice(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-").toUpperCase();
}
