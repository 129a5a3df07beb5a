import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";

/** A request body as it is sent. */
export interface SentBody {
  readonly content: Buffer;
  readonly isCompressed: boolean;
}

/** Smaller bodies are sent as they are. */
const COMPRESS_FROM_BYTES = 1024;
/** Bytes that are compressed at once. */
const BLOCK_BYTES = 64 * 1024;
// The gateway rejects a body that grows more than 200 times when it is decompressed.
const MOST_RATIO = 150;

/**
 * Writes lines as a body, compressed if that makes it smaller. Lines are written one after the other: only what is sent is in the memory.
 * @param lines called again if they are sent as they are
 */
export async function packLines(lines: () => Iterable<Uint8Array>): Promise<SentBody> {
  const blocks = inBlocks(lines());
  const first = blocks.next();
  if (first.done) return { content: Buffer.alloc(0), isCompressed: false };
  if (first.value.length < COMPRESS_FROM_BYTES) return { content: first.value, isCompressed: false };
  const gzip = createGzip();
  const packed = buffer(gzip);
  let bytes = 0;
  for (let block: Buffer | undefined = first.value; block !== undefined; block = next(blocks)) {
    bytes += block.length;
    if (!gzip.write(block)) await once(gzip, "drain");
  }
  gzip.end();
  const content = await packed;
  if (content.length < bytes && content.length * MOST_RATIO > bytes) return { content, isCompressed: true };
  return { content: Buffer.concat([...lines()]), isCompressed: false };
}

function next(blocks: Generator<Buffer>): Buffer | undefined {
  const { done, value } = blocks.next();
  return done ? undefined : value;
}

function* inBlocks(lines: Iterable<Uint8Array>): Generator<Buffer> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for (const line of lines) {
    parts.push(line);
    bytes += line.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}
