/** Gives memory of at least so many octets. */
export type Allocate = (octets: number) => ArrayBuffer;

/** Octets that are read at a time into memory that was given: so few that a runtime receives them in the same memory each time. */
const PART_BYTES = 1 << 20;

/**
 * Reads a response's body into one buffer.
 * @param allocate where the buffer is from, if the body says its length. Default: the host's
 * @throws {Error} where it is longer than `most` octets, or ends early
 */
export async function readBounded(
  response: Response,
  most: number,
  what: string,
  allocate?: Allocate,
): Promise<Uint8Array<ArrayBuffer>> {
  const encoded = (response.headers.get("content-encoding") ?? "identity") !== "identity";
  const length = encoded ? undefined : declaredLength(response);
  if (length !== undefined && length > most) {
    await response.body?.cancel();
    throw tooLong(what, most, `${length} octets`);
  }
  if (length === undefined) return readChunks(response, most, what);
  const body =
    allocate === undefined || response.body === null
      ? new Uint8Array(await response.arrayBuffer())
      : await readInto(allocate(length), response.body, length);
  if (body.length !== length)
    throw new Error(`${what} ended after ${body.length} of ${length} octets: it is cut off`);
  return body;
}

function declaredLength(response: Response): number | undefined {
  const text = response.headers.get("content-length");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A reader into memory that it is given (WHATWG Streams section 4.5), as all hosts' types agree on it. */
interface ByteReader {
  read(
    view: Uint8Array<ArrayBuffer>,
    options?: { readonly min: number },
  ): Promise<{ readonly done: boolean; readonly value?: Uint8Array<ArrayBuffer> | undefined }>;
}

/** @returns what the body has; `length` octets unless it ends early */
async function readInto(
  memory: ArrayBuffer,
  body: ReadableStream<Uint8Array>,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader({ mode: "byob" }) as ByteReader;
  let buffer = memory;
  let at = 0;
  while (at < length) {
    const octets = Math.min(PART_BYTES, length - at);
    // Each read hands the memory over, and gets it back.
    const { done, value } = await reader.read(new Uint8Array(buffer, at, octets), { min: octets });
    if (value === undefined) throw new Error("the body was cancelled while it was read");
    buffer = value.buffer;
    at += value.length;
    if (done) return new Uint8Array(buffer, 0, at);
  }
  const { done } = await reader.read(new Uint8Array(1));
  if (!done) throw new Error(`the body goes on after the ${length} octets that it declares`);
  return new Uint8Array(buffer, 0, length);
}

/** Without a length that can be trusted, octets are counted while they arrive. */
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
  return new Error(`${what} may have ${most} octets and has ${has}: raise the limit, or serve less`);
}
