import { FOLD } from "../../dns/name.ts";

const PRIME = 0x01000193;

const OFFSET = 0x811c9dc5 | 0;

/** The start value for the names of a tree: the hash of its apex. */
export function apexHash(tree: number): number {
  return OFFSET ^ Math.imul(tree, 0x9e3779b1);
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

/** Hashes `length` bytes of an address. */
export function hashAddress(octets: Uint8Array, start: number, length: number): number {
  let hash = OFFSET;
  for (let index = start; index < start + length; index++) hash = Math.imul(hash ^ octets[index]!, PRIME);
  return hash;
}
