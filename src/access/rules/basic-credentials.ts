/** A name and a password, in Unicode Normalization Form C. */
export interface BasicCredentials {
  readonly username: string;
  readonly password: string;
}

const BASIC = /^Basic +((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?) *$/i;
const LONGEST = 4096;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The name and password of an Authorization field (RFC 7617 section 2, in UTF-8 as section 2.1 has it). Undefined for any other
 * field, and for one that is not Base64 with padding (RFC 4648 section 4), not UTF-8, without a colon, or with control characters.
 */
export function readBasicCredentials(authorization: string): BasicCredentials | undefined {
  const encoded = authorization.length <= LONGEST ? BASIC.exec(authorization)?.[1] : undefined;
  if (encoded === undefined) return undefined;
  let text: string;
  try {
    text = utf8.decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
  const colon = text.indexOf(":");
  if (colon < 0 || hasControls(text)) return undefined;
  return {
    username: text.slice(0, colon).normalize("NFC"),
    password: text.slice(colon + 1).normalize("NFC"),
  };
}

/** Whether a text has a CTL of RFC 5234 appendix B.1. */
function hasControls(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
