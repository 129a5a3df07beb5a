type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Bytes that threads share: posting them copies none. Their type says `ArrayBuffer`, since everything that reads generations takes both; what leaves the
 * process as a body must be a copy (`ownBytes`).
 */
export function sharedBytes(bytes: Bytes): Bytes {
  if (isShared(bytes)) return bytes;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared as Uint8Array as Bytes;
}

/** Bytes that no thread shares: the Fetch standard takes no others as a body. */
export function ownBytes(bytes: Bytes): Bytes {
  return isShared(bytes) ? bytes.slice() : bytes;
}

function isShared({ buffer }: Uint8Array): boolean {
  return typeof SharedArrayBuffer !== "undefined" && buffer instanceof SharedArrayBuffer;
}
