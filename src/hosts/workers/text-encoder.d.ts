/// <reference types="@cloudflare/workers-types" />

/** Octets of its own, as in every runtime; the types of Workers leave that open. */
interface TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
}
