/// <reference types="@cloudflare/workers-types" />

/** The result has a buffer of its own, as in every runtime; the types of Workers do not say so. */
interface TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
}
