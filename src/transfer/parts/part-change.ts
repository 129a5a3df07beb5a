/*
 * The difference of two parts, roots or segments, so that a secondary that has one need not transfer the whole other one. It knows nothing
 * of what is in them: where one entry of a directory changed, it is that entry. All words are little-endian and 32 bits long.
 *
 *   length        of the part that it makes, in bytes
 *   then, until the end:
 *   from          offset in the part before of the bytes to copy
 *   copied        how many
 *   added         how many bytes follow here that come behind the copied ones
 *   bytes         those
 */

type Bytes = Uint8Array<ArrayBuffer>;

const WORD = 4;
const STEP_BYTES = 3 * WORD;

/** A change that does not fit the part that it is applied to, or is cut off. */
export class PartChangeError extends Error {}

/** What makes `after` of `before`. */
export function partChange(before: Uint8Array, after: Uint8Array): Bytes {
  const steps = before.length === after.length ? stepsInPlace(before, after) : stepsAround(before, after);
  const length = steps.reduce((sum, { added }) => sum + STEP_BYTES + added.length, WORD);
  const change = new Uint8Array(length);
  const view = new DataView(change.buffer);
  view.setUint32(0, after.length, true);
  let at = WORD;
  for (const { from, copied, added } of steps) {
    view.setUint32(at, from, true);
    view.setUint32(at + WORD, copied, true);
    view.setUint32(at + 2 * WORD, added.length, true);
    change.set(added, at + STEP_BYTES);
    at += STEP_BYTES + added.length;
  }
  return change;
}

/**
 * The part that a change makes of the one before.
 * @param most bytes that it may have
 * @throws {PartChangeError} for a change that does not fit
 */
export function changePart(before: Uint8Array, change: Uint8Array, most: number): Bytes {
  const view = new DataView(change.buffer, change.byteOffset, change.length);
  if (change.length < WORD) throw new PartChangeError("the change is cut off");
  const length = view.getUint32(0, true);
  if (length > most) throw new PartChangeError(`the part may have ${most} bytes and has ${length}`);
  const after = new Uint8Array(length);
  let written = 0;
  for (let at = WORD; at < change.length; ) {
    if (change.length - at < STEP_BYTES) throw new PartChangeError("the change is cut off");
    const from = view.getUint32(at, true);
    const copied = view.getUint32(at + WORD, true);
    const added = view.getUint32(at + 2 * WORD, true);
    at += STEP_BYTES;
    if (from + copied > before.length || at + added > change.length || written + copied + added > length)
      throw new PartChangeError("the change does not fit the part before it");
    after.set(before.subarray(from, from + copied), written);
    after.set(change.subarray(at, at + added), written + copied);
    written += copied + added;
    at += added;
  }
  if (written !== length)
    throw new PartChangeError(`the change makes ${written} of the ${length} bytes of its part`);
  return after;
}

interface Step {
  readonly from: number;
  readonly copied: number;
  readonly added: Uint8Array;
}

/** Of parts of equal length: what differs, without gaps that are shorter than a step. */
function stepsInPlace(before: Uint8Array, after: Uint8Array): Step[] {
  const steps: Step[] = [];
  const { length } = after;
  const same = (at: number) => before[at] === after[at];
  let done = 0;
  for (let at = 0; at < length; ) {
    if (same(at)) {
      at++;
      continue;
    }
    let end = at + 1;
    for (let next = end; next < length && next - end < STEP_BYTES; next++) if (!same(next)) end = next + 1;
    steps.push({ from: done, copied: at - done, added: after.subarray(at, end) });
    done = end;
    at = end;
  }
  if (done < length) steps.push({ from: done, copied: length - done, added: new Uint8Array(0) });
  return steps;
}

/** Of parts of other lengths: what is between their common beginning and their common end. */
function stepsAround(before: Uint8Array, after: Uint8Array): Step[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return [
    { from: 0, copied: start, added: after.subarray(start, after.length - end) },
    { from: before.length - end, copied: end, added: new Uint8Array(0) },
  ];
}
