interface Decoder {
  decode(bytes: Uint8Array): string;
}

interface Encoder {
  encode(text: string): Uint8Array<ArrayBuffer>;
}

/** Every host has both; this folder compiles without the types of any host. */
const { TextDecoder, TextEncoder } = globalThis as unknown as {
  readonly TextDecoder: new (
    label: string,
    options: { readonly fatal: boolean; readonly ignoreBOM: boolean },
  ) => Decoder;
  readonly TextEncoder: new () => Encoder;
};

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Decodes UTF-8. @throws {TypeError} for anything else. */
export function decodeUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}
