/**
 * Reads the body of a response of undici. A module of its own, since undici takes 90 ms of CPU time to load.
 * @param tooLong makes the error for a body of more than `most` bytes
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  most: number,
  tooLong: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > most) throw tooLong();
    parts.push(part);
  }
  return Buffer.concat(parts);
}
