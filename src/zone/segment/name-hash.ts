/*
 * Hashes of names and addresses. All names that they are given have their letters folded. Four bytes are mixed at a time: byte by byte, hashing takes
 * a tenth of a short answer's time.
 */

const MULTIPLIER = 0x9e3779b1;

function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, MULTIPLIER);
  return mixed ^ (mixed >>> 15);
}

/** The hash of a tree's apex in no segment, by the tree's key. */
export function treeHash(tree: string): number {
  let hash = tree.length;
  for (let index = 0; index < tree.length; index++) hash = mix(hash, tree.charCodeAt(index));
  return hash;
}

/** The hash of a tree's apex in a segment, from which the names in it are hashed. */
export function apexHash(tree: number, seed: number): number {
  return tree ^ Math.imul(seed, MULTIPLIER);
}

/**
 * Extends the hash of a parent name by one label of `length` bytes at `start`: labels from the root leftwards, so that a child costs only its own
 * label.
 */
export function hashLabel(parentHash: number, bytes: Uint8Array, start: number, length: number): number {
  const end = start + length;
  let hash = parentHash ^ length;
  let at = start;
  for (; at + 4 <= end; at += 4)
    hash = mix(hash, bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24));
  let rest = 0;
  for (; at < end; at++) rest = (rest << 8) | bytes[at]!;
  return mix(hash, rest);
}

/**
 * The hash that selects the segment of names: that of the namespace and of the label left of it, each as its offset in `bytes` (length byte,
 * bytes), whatever the tree.
 */
export function keyHash(bytes: Uint8Array, namespace: number, label: number): number {
  return hashLabel(hashLabel(0, bytes, namespace + 1, bytes[namespace]!), bytes, label + 1, bytes[label]!);
}

/** Bits of a hash of an address that its neighbours have as well: as many leaves hold 1,000,000 addresses. */
const SHARED_BITS = 12;
/** Bits of an address by which neighbours differ. */
const NEIGHBOUR_BITS = 6;

/**
 * The hash that selects the segment of the reverse name of an address of 4 or 16 bytes. Its lowest bits, which select first, are those of 64 neighbours: the addresses of a
 * cluster lie together, and so its push changes few segments. The bits above them differ, so that neighbours with many names have several segments.
 */
export function reverseHash(bytes: Uint8Array, length: number): number {
  const shared = mix(hashAddress(bytes, length - 1, 0), bytes[length - 1]! >>> NEIGHBOUR_BITS);
  const all = mix(shared, bytes[length - 1]!);
  return (shared & ((1 << SHARED_BITS) - 1)) | (all << SHARED_BITS);
}

/** The hash of an address of 4 or 16 bytes at `at` in a segment. */
export function hashAddress(bytes: Uint8Array, length: number, seed: number, at = 0): number {
  return hashLabel(apexHash(0, seed), bytes, at, length);
}
