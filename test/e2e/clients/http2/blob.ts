import { createHash } from "node:crypto";

const PART = 64 * 1024;
/** Bytes of the body that goes each way: far more than all windows together. */
export const BLOB_BYTES = 20 * 1024 * 1024;

/** A part of the body: no two parts are equal. */
function part(index: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(PART).fill(index % 251);
  new DataView(bytes.buffer).setUint32(0, index);
  return bytes;
}

/** The body, made as it is read. */
export function blob(): ReadableStream<Uint8Array<ArrayBuffer>> {
  let index = 0;
  return new ReadableStream({
    pull(controller) {
      if (index * PART === BLOB_BYTES) controller.close();
      else controller.enqueue(part(index++));
    },
  });
}

export async function wholeBlob(): Promise<Buffer> {
  return Buffer.from(await new Response(blob()).arrayBuffer());
}

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
