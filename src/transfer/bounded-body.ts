/**
 * Reads a response's body into one buffer.
 * @throws {Error} where it is longer than `most` bytes, or ends early
 */
export async function readBounded(
  response: Response,
  most: number,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  const length = encoded ? undefined : declaredLength(response);
  if (length !== undefined && length > most) {
    await response.body?.cancel();
    throw tooLong(what, most, `${length} bytes`);
  }
  if (length === undefined) return readChunks(response, most, what);
  const body = new Uint8Array(await response.arrayBuffer());
  if (body.length !== length)
    throw new Error(`${what} ended after ${body.length} of ${length} bytes: it is cut off`);
  return body;
}

function declaredLength(response: Response): number | undefined {
  const text = response.headers.get("content-length");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Without a length that can be trusted, bytes are counted while they arrive. */
async function readChunks(response: Response, most: number, what: string): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const reader = response.body?.getReader(); reader !== undefined; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw tooLong(what, most, "more");
    }
    chunks.push(value);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function tooLong(what: string, most: number, has: string): Error {
  return new Error(`${what} may have ${most} bytes and has ${has}: raise the limit, or serve less`);
}
