import { FOLD } from "../../dns/name.ts";

const PRIME = 0x01000193;

const OFFSET = 0x811c9dc5 | 0;

/** The start value for the names of a tree, by its key: the hash of its apex. */
export function apexHash(tree: string): number {
  let hash = OFFSET;
  for (let index = 0; index < tree.length; index++) hash = Math.imul(hash ^ tree.charCodeAt(index), PRIME);
  return hash;
}

/**
 * The hash that selects the segment of names: that of the namespace and of the label left of it, each as its offset in `bytes` (length byte,
 * bytes), whatever the tree.
 */
export function keyHash(bytes: Uint8Array, namespace: number, label: number): number {
  const hash = hashLabel(OFFSET, bytes, namespace + 1, bytes[namespace]!);
  return spread(hashLabel(hash, bytes, label + 1, bytes[label]!));
}

/**
 * Extends the hash of a parent name by one label of `length` bytes at `start`, letters folded (FNV-1a,
 * labels from the root leftwards, so that a child costs only its own label).
 */
export function hashLabel(parentHash: number, bytes: Uint8Array, start: number, length: number): number {
  let hash = Math.imul(parentHash ^ length, PRIME);
  for (let index = start; index < start + length; index++)
    hash = Math.imul(hash ^ FOLD[bytes[index]!]!, PRIME);
  return hash;
}

/** Spreads a hash over the low bits, which select the slot. */
export function spread(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** Hashes `length` bytes of an address; `spread` of it selects the segment of its reverse name. */
export function hashAddress(octets: Uint8Array, start: number, length: number): number {
  let hash = OFFSET;
  for (let index = start; index < start + length; index++) hash = Math.imul(hash ^ octets[index]!, PRIME);
  return hash;
}
