import type { Random } from "../harness/random.ts";
import { Flag, FrameType, frame, uint32 } from "./http2-frames.ts";

const HEAD = 9;
const PADDED = 0x8;

/** Changes frames so that a stream suffers, and seldom the connection: what follows on it is read, too. */
export function mutateStream(random: Random, frames: Buffer[]): void {
  const at = random.below(frames.length);
  const chosen = frames[at]!;
  const stream = chosen.length < HEAD ? 1 : chosen.readUInt32BE(5);
  if (stream === 0) return;
  const isData = chosen[3] === FrameType.DATA;
  switch (random.below(9)) {
    case 0:
      frames.splice(at + 1, 0, frame(FrameType.RST_STREAM, 0, stream, uint32(random.below(16))));
      return;
    case 1: {
      const increment = uint32(random.once(20) ? 0x7fffffff : random.below(1000) + 1);
      frames.splice(at + 1, 0, frame(FrameType.WINDOW_UPDATE, 0, stream, increment));
      return;
    }
    case 2: {
      const weight = Buffer.of(0x80, 0, 0, random.below(256), 9);
      frames.splice(at + 1, 0, frame(FrameType.PRIORITY, 0, stream, weight));
      return;
    }
    case 3: {
      const payload = random.bytes(random.below(40));
      frames.splice(at + 1, 0, frame(0x10 + random.below(200), random.below(256), stream, payload));
      return;
    }
    // Not the end of the stream any more, or of what is left of it.
    case 4:
      frames[at] = withFlags(chosen, chosen[4]! & ~Flag.END_STREAM);
      return;
    case 5:
      if (isData) frames.splice(at, 1);
      else frames[at] = flipped(random, chosen, Math.max(HEAD, chosen.length - 3));
      return;
    case 6:
      if (isData) frames[at] = flipped(random, chosen, HEAD);
      else if (chosen.length > HEAD + 8) frames.splice(at, 1, ...inTwo(chosen));
      return;
    // More bytes than were announced.
    case 7:
      if (isData) frames.splice(at, 0, withFlags(chosen, 0));
      return;
    default:
      if (isData) frames[at] = padded(random, chosen);
  }
}

function withFlags(one: Buffer, flags: number): Buffer {
  const changed = Buffer.from(one);
  changed[4] = flags;
  return changed;
}

/** One bit of what begins at `start` is another one. */
function flipped(random: Random, one: Buffer, start: number): Buffer {
  if (one.length <= start) return one;
  const changed = Buffer.from(one);
  changed[start + random.below(one.length - start)]! ^= 1 << random.below(8);
  return changed;
}

/** HEADERS and a CONTINUATION. */
function inTwo(headers: Buffer): Buffer[] {
  const half = (headers.length + HEAD) >> 1;
  const stream = headers.readUInt32BE(5);
  return [
    frame(FrameType.HEADERS, headers[4]! & ~Flag.END_HEADERS, stream, headers.subarray(HEAD, half)),
    frame(FrameType.CONTINUATION, Flag.END_HEADERS, stream, headers.subarray(half)),
  ];
}

/** DATA with padding whose length seldom exceeds the frame. */
function padded(random: Random, data: Buffer): Buffer {
  const padding = random.below(100);
  const said = random.once(40) ? 255 : padding;
  const payload = Buffer.concat([Buffer.of(said), data.subarray(HEAD), Buffer.alloc(padding)]);
  return frame(FrameType.DATA, data[4]! | PADDED, data.readUInt32BE(5), payload);
}
