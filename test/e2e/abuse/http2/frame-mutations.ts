import { frame } from "../../../hosts/server/http2-frames.ts";
import type { Random } from "../harness/random.ts";
import { Flag, FrameType, initialWindow, uint32 } from "./http2-frames.ts";
import type { Http2Request } from "./http2-requests.ts";

const HEAD = 9;
/** END_STREAM or ACK, END_HEADERS, PADDED, PRIORITY, and an unknown one. */
const FLAGS = [0x1, 0x4, 0x8, 0x20, 0x40];
const MOST_REQUESTS = 3;
const MOST_MUTATIONS = 3;
/** Streams that a connection may use before it has to be another one. */
export const STREAMS_OF_SEQUENCE = 2 * MOST_REQUESTS;

/**
 * A valid sequence of frames, whose streams begin at `stream`, with up to three mutations: flipped bits,
 * frames that are repeated, left out, swapped, cut off or new, and other streams, flags, lengths and types.
 */
export function mutatedSequence(random: Random, requests: readonly Http2Request[], stream: number): Buffer {
  const count = 1 + random.below(MOST_REQUESTS);
  const streams = Array.from({ length: count }, (_, index) => random.pick(requests)(stream + 2 * index));
  const frames = streams.map((one) => one.shift()!);
  // What follows the headers comes in turns.
  const isLeft = (one: readonly Buffer[]) => one.length > 0;
  for (let left = streams.filter(isLeft); left.length > 0; left = left.filter(isLeft))
    frames.push(random.pick(left).shift()!);
  const mutations = 1 + random.below(MOST_MUTATIONS);
  // Half of what is changed at random ends the connection, and with it the test of what follows.
  const isHarsh = random.once(10);
  for (let index = 0; index < mutations && frames.length > 0; index++)
    if (isHarsh) mutate(random, frames, stream);
    else mutateStream(random, frames);
  return Buffer.concat(frames);
}

/** A frame that a client may send at any time, most often on an open stream. */
function harmless(random: Random, stream: number): Buffer {
  switch (random.below(6)) {
    case 0:
      return frame(FrameType.PING, 0, 0, random.bytes(8));
    case 1:
      return initialWindow(random.pick([0, 1, 65_535, 1 << 20]));
    case 2: {
      const increment = uint32(random.once(20) ? 0x7fffffff : 1 + random.below(1000));
      return frame(FrameType.WINDOW_UPDATE, 0, random.once(2) ? 0 : stream, increment);
    }
    case 3:
      return frame(FrameType.PRIORITY, 0, stream, Buffer.of(0x80, 0, 0, random.below(256), 9));
    case 4:
      return frame(0x10 + random.below(200), random.below(256), stream, random.bytes(random.below(40)));
    default:
      return frame(FrameType.RST_STREAM, 0, stream, uint32(random.below(16)));
  }
}

/** Any frame at all. */
function arbitrary(random: Random, stream: number): Buffer {
  const onStream = random.pick([0, stream, stream, stream + 1, 1, 0x7fffffff]);
  const flags = random.once(2) ? random.pick(FLAGS) : 0;
  return frame(random.below(11), flags, onStream, random.bytes(random.below(24)));
}

/** Changes frames so that a stream suffers, and seldom the connection: what follows on it is read, too. */
function mutateStream(random: Random, frames: Buffer[]): void {
  const at = random.below(frames.length);
  const chosen = frames[at]!;
  const stream = chosen.readUInt32BE(5);
  if (stream === 0) return;
  const isData = chosen[3] === FrameType.DATA;
  switch (random.below(8)) {
    // Not the end of the stream any more, or of what is left of it.
    case 0:
      frames[at] = withFlags(chosen, chosen[4]! & ~Flag.END_STREAM);
      return;
    case 1:
      if (isData) frames.splice(at, 1);
      else frames[at] = flipped(random, chosen, Math.max(HEAD, chosen.length - 3));
      return;
    case 2:
      if (isData) frames[at] = flipped(random, chosen, HEAD);
      else if (chosen.length > HEAD + 8) frames.splice(at, 1, ...inTwo(chosen));
      return;
    // More bytes than were announced.
    case 3:
      if (isData) frames.splice(at, 0, withFlags(chosen, 0));
      return;
    case 4:
      if (isData) frames[at] = padded(random, chosen);
      return;
    default:
      frames.splice(at + 1, 0, harmless(random, stream));
  }
}

/** Changes one of the frames, or their order. Frames are shared, so that each is copied before. */
function mutate(random: Random, frames: Buffer[], stream: number): void {
  const at = random.below(frames.length);
  const chosen = frames[at]!;
  // Cut off already.
  if (chosen.length < HEAD) return;
  const copy = Buffer.from(chosen);
  const anywhere = random.below(frames.length + 1);
  switch (random.below(9)) {
    case 0:
      frames[at] = flipped(random, chosen, 0);
      return;
    case 1:
      frames.splice(anywhere, 0, chosen);
      return;
    case 2:
      frames.splice(at, 1);
      return;
    case 3: {
      const other = random.below(frames.length);
      frames[at] = frames[other]!;
      frames[other] = chosen;
      return;
    }
    // Shorter, with a wrong length or with its own.
    case 4: {
      const short = Buffer.from(chosen.subarray(0, HEAD + random.below(Math.max(1, chosen.length - HEAD))));
      if (!random.once(4)) short.writeUIntBE(short.length - HEAD, 0, 3);
      frames[at] = short;
      return;
    }
    case 5:
      copy.writeUInt32BE(random.pick([0, 1, 2, stream, stream + 2, stream + 4, 0x7fffffff, 0xffffffff]), 5);
      frames[at] = copy;
      return;
    case 6:
      frames[at] = withFlags(chosen, chosen[4]! ^ random.pick(FLAGS));
      return;
    case 7:
      if (random.once(3)) copy.writeUIntBE(random.pick([0, 1, copy.length, 16_384, 16_385, 0xffffff]), 0, 3);
      else copy[3] = random.below(11);
      frames[at] = copy;
      return;
    default:
      frames.splice(anywhere, 0, arbitrary(random, stream));
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
  const length = Buffer.of(random.once(40) ? 255 : padding);
  const payload = Buffer.concat([length, data.subarray(HEAD), Buffer.alloc(padding)]);
  return frame(FrameType.DATA, data[4]! | Flag.PADDED, data.readUInt32BE(5), payload);
}
