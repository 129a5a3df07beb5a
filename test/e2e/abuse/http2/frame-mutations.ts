import type { Random } from "../harness/random.ts";
import { Flag, FrameType, frame, Setting, settings, uint32 } from "./http2-frames.ts";
import type { Http2Request } from "./http2-requests.ts";
import { mutateStream } from "./stream-mutations.ts";

const HEAD = 9;
/** END_STREAM or ACK, END_HEADERS, PADDED, PRIORITY, and an unknown one. */
const FLAGS = [0x1, 0x4, 0x8, 0x20, 0x40];
const MOST_REQUESTS = 3;
const MOST_MUTATIONS = 3;
/** Streams that a connection may use before it has to be another one. */
export const STREAMS_OF_SEQUENCE = 2 * MOST_REQUESTS;

/** A frame that a client may send at any time. @param next the first stream that is not open yet */
function control(random: Random, next: number): Buffer {
  const stream = 1 + 2 * random.below(Math.max(1, next >> 1));
  switch (random.below(6)) {
    case 0:
      return frame(FrameType.PING, 0, 0, random.bytes(8));
    case 1:
      return settings({ [Setting.INITIAL_WINDOW_SIZE]: random.pick([0, 1, 65_535, 1 << 20]) });
    case 2:
      return frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1 + random.below(1000)));
    case 3:
      return frame(FrameType.PRIORITY, 0, stream, Buffer.of(0, 0, 0, 0, random.below(256)));
    case 4:
      return frame(0x10 + random.below(200), random.below(256), stream, random.bytes(random.below(40)));
    default:
      return next === 1 ? settings() : frame(FrameType.RST_STREAM, 0, stream, uint32(random.below(16)));
  }
}

/** Any frame at all. */
function arbitrary(random: Random, stream: number): Buffer {
  const type = random.below(11);
  const onStream = random.pick([0, stream, stream, stream + 1, 1, 0x7fffffff]);
  return frame(type, random.once(2) ? random.pick(FLAGS) : 0, onStream, random.bytes(random.below(24)));
}

/**
 * A valid sequence of frames, whose streams begin at `stream`, with up to three mutations: flipped bits,
 * frames that are repeated, left out, swapped, cut off or new, and other streams, flags, lengths and types.
 */
export function mutatedSequence(random: Random, requests: readonly Http2Request[], stream: number): Buffer {
  const count = 1 + random.below(MOST_REQUESTS);
  const streams = Array.from({ length: count }, (_, index) => [
    ...random.pick(requests).frames(stream + 2 * index),
  ]);
  const frames = streams.map((one) => one.shift()!);
  // What follows the headers comes in turns.
  for (let left = streams.filter(isLeft); left.length > 0; left = left.filter(isLeft))
    frames.push(random.pick(left).shift()!);
  if (random.once(2)) frames.splice(random.below(frames.length + 1), 0, control(random, stream));
  const mutations = 1 + random.below(MOST_MUTATIONS);
  // Half of what is changed at random ends the connection, and with it the test of what follows.
  const isHarsh = random.once(10);
  for (let index = 0; index < mutations && frames.length > 0; index++)
    if (isHarsh) mutate(random, frames, stream);
    else mutateStream(random, frames);
  return Buffer.concat(frames);
}

function isLeft(frames: readonly Buffer[]): boolean {
  return frames.length > 0;
}

/** Changes one of the frames, or their order. Frames are shared, so that each is copied before. */
function mutate(random: Random, frames: Buffer[], stream: number): void {
  const at = random.below(frames.length);
  const chosen = frames[at]!;
  // Cut off already.
  if (chosen.length < HEAD) return;
  const copy = Buffer.from(chosen);
  switch (random.below(12)) {
    case 0:
    case 1:
      copy[random.below(copy.length)]! ^= 1 << random.below(8);
      frames[at] = copy;
      return;
    case 2:
      frames.splice(random.below(frames.length + 1), 0, chosen);
      return;
    case 3:
      frames.splice(at, 1);
      return;
    case 4: {
      const other = random.below(frames.length);
      frames[at] = frames[other]!;
      frames[other] = chosen;
      return;
    }
    // Shorter with a correct length; shorter with a wrong one.
    case 5:
      frames[at] = shortened(random, chosen);
      return;
    case 6:
      if (random.once(4)) frames[at] = chosen.subarray(0, random.below(chosen.length));
      else frames[at] = shortened(random, chosen);
      return;
    case 7:
      copy.writeUInt32BE(random.pick([0, 1, 2, stream, stream + 2, stream + 4, 0x7fffffff, 0xffffffff]), 5);
      frames[at] = copy;
      return;
    case 8:
      copy[4]! ^= random.pick(FLAGS);
      frames[at] = copy;
      return;
    case 9:
      if (random.once(3)) copy.writeUIntBE(random.pick([0, 1, copy.length, 16_384, 16_385, 0xffffff]), 0, 3);
      else copy[3] = random.below(11);
      frames[at] = copy;
      return;
    case 10:
      copy[4]! ^= Flag.END_STREAM;
      frames[at] = copy;
      return;
    default:
      frames.splice(random.below(frames.length + 1), 0, arbitrary(random, stream));
  }
}

/** A frame with a part of its payload. */
function shortened(random: Random, one: Buffer): Buffer {
  const short = Buffer.from(one.subarray(0, HEAD + random.below(Math.max(1, one.length - HEAD))));
  short.writeUIntBE(short.length - HEAD, 0, 3);
  return short;
}
