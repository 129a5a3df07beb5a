import { type FoldedName, labelStart } from "../dns/folded-name.ts";
import { isHostLabel } from "../zone/kinds/service-labels.ts";

/** The namespace of a name, and the label left of it. */
export interface KeyText {
  readonly namespace: string;
  readonly label: string;
  /** Whether both may be part of a key. */
  readonly isKey: boolean;
  /** Of units, by the index of their tree. */
  readonly ids: string[];
}

interface Slot extends KeyText {
  readonly bytes: Uint8Array;
}

/** Keys of which the text is kept; a power of 2. */
const SLOTS = 8192;

/** Gives parts of names as text. To make and to hash them takes 1 µs, longer than the rest of an answer, so those that were needed last are kept. */
export class KeyTexts {
  readonly #slots: (Slot | undefined)[] = [];

  /** @param label the index of the label left of the namespace */
  of(name: FoldedName, label: number): KeyText {
    const { bytes } = name;
    const start = labelStart(name, label);
    const end = labelStart(name, label + 2);
    let hash = end - start;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 16777619);
    const index = (hash ^ (hash >>> 15)) & (SLOTS - 1);
    const slot = this.#slots[index];
    if (slot !== undefined && isEqual(slot.bytes, bytes, start, end)) return slot;
    const middle = labelStart(name, label + 1);
    const own = textOf(bytes, start + 1, middle);
    const namespace = textOf(bytes, middle + 1, end);
    const isKey = isKeyLabel(namespace) && isKeyLabel(own);
    const made = { bytes: bytes.slice(start, end), namespace, label: own, isKey, ids: [] };
    this.#slots[index] = made;
    return made;
  }
}

function isEqual(own: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (own.length !== end - start) return false;
  for (let at = start; at < end; at++) if (own[at - start] !== bytes[at]) return false;
  return true;
}

/** Each byte becomes the character with its number. */
function textOf(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode.apply(null, bytes.subarray(start, end) as unknown as number[]);
}

/** Whether a label may be part of a key: one of a host name, perhaps with underscores, or that of a pod, which may end in a dash. */
export function isKeyLabel(label: string): boolean {
  return isHostLabel(label) || isHostLabel(label.replaceAll("_", "x").replace(/-$/, "x"));
}
