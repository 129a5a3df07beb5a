const INVALID = 255;

const VALUES = new Uint8Array(128).fill(INVALID);
for (const [value, character] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
].entries())
  VALUES[character.charCodeAt(0)] = value;

/** The number of base64url characters for `bytes` bytes, without padding. */
export function base64urlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

/**
 * Decodes base64url (RFC 4648 section 5) into `target` from its start. RFC 8484 section 4.1.1 allows
 * no padding; correct padding is accepted, too, because many encoders add it.
 * @returns the number of bytes, or -1 if `text` is not base64url. `target` must be large enough.
 */
export function decodeBase64url(text: string, target: Uint8Array): number {
  let end = text.length;
  if (end > 0 && text.charCodeAt(end - 1) === 0x3d) {
    if (end % 4 !== 0) return -1;
    end -= text.charCodeAt(end - 2) === 0x3d ? 2 : 1;
  }
  if (end % 4 === 1) return -1;
  let size = 0;
  let index = 0;
  // One check of all characters at the end keeps this cheap: `seen` detects characters outside
  // ASCII, which the masked index hides, and `invalid` all other characters.
  let seen = 0;
  let invalid = 0;
  const whole = end - (end % 4);
  while (index < whole) {
    const first = text.charCodeAt(index);
    const second = text.charCodeAt(index + 1);
    const third = text.charCodeAt(index + 2);
    const fourth = text.charCodeAt(index + 3);
    index += 4;
    seen |= first | second | third | fourth;
    const a = VALUES[first & 127]!;
    const b = VALUES[second & 127]!;
    const c = VALUES[third & 127]!;
    const d = VALUES[fourth & 127]!;
    invalid |= a | b | c | d;
    target[size] = (a << 2) | (b >> 4);
    target[size + 1] = (b << 4) | (c >> 2);
    target[size + 2] = (c << 6) | d;
    size += 3;
  }
  if (index < end) {
    const first = text.charCodeAt(index);
    const second = text.charCodeAt(index + 1);
    const third = index + 2 < end ? text.charCodeAt(index + 2) : 0x41;
    seen |= first | second | third;
    const a = VALUES[first & 127]!;
    const b = VALUES[second & 127]!;
    const c = VALUES[third & 127]!;
    invalid |= a | b | c;
    target[size++] = (a << 2) | (b >> 4);
    if (index + 2 < end) target[size++] = (b << 4) | (c >> 2);
  }
  return seen > 127 || invalid > 63 ? -1 : size;
}
