import { BELOW_APEX, NameForm, PARENT_BYTES } from "../layout.ts";
import { blockEnd, read16, read32 } from "../record-block.ts";

/*
 * Names in the heap of a segment (layout.ts).
 */

/** Whether a name is directly below an apex, or is one. */
export function isTop(heap: Uint8Array, name: number): boolean {
  return (heap[name]! & NameForm.parent) === BELOW_APEX;
}

/** The offset of a name's run of labels: the length in bytes of all, then each with its length byte. */
export function runOf(heap: Uint8Array, name: number): number {
  return name + 1 + PARENT_BYTES[(heap[name]! & NameForm.parent) as 0 | 1 | 2 | 3];
}

/** The offset after a name's run: that of its record block, if it has one. */
export function runEnd(heap: Uint8Array, name: number): number {
  const run = runOf(heap, name);
  return run + 1 + heap[run]!;
}

/** How far a name is behind its parent, which is no apex. */
export function distanceToParent(heap: Uint8Array, name: number): number {
  switch (heap[name]! & NameForm.parent) {
    case 1:
      return heap[name + 1]!;
    case 2:
      return read16(heap, name + 1);
    default:
      return read32(heap, name + 1);
  }
}

/** The index of the tree of a name that is a top. */
export function treeOfTop(heap: Uint8Array, name: number): number {
  return read16(heap, name + 1);
}

/** The form of a parent that is so far in front of a name. */
export function parentForm(distance: number): 1 | 2 | 3 {
  if (distance < 1 << 8) return 1;
  return distance < 1 << 16 ? 2 : 3;
}

/** The offset after a name. */
export function nameEnd(heap: Uint8Array, name: number): number {
  const block = runEnd(heap, name);
  const form = heap[name]!;
  return (form & NameForm.records) === 0 ? block : blockEnd(heap, block, (form & NameForm.variants) !== 0);
}
