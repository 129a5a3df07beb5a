/** Sums are below: additions of two stay exact. */
const MODULUS = 2 ** 48;

/**
 * A checksum over texts, in 48 bits; any change of one character changes it. No protection against forgery: who can write the database can write sums. The
 * multiplications are those of the public-domain hash cyrb53.
 */
export function sumOf(...texts: string[]): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (const text of texts) {
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      low = Math.imul(low ^ unit, 2654435761);
      high = Math.imul(high ^ unit, 1597334677);
    }
    low = Math.imul(low ^ text.length, 2654435761);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (high & 0xffff) * 2 ** 32 + (low >>> 0);
}

/** The sum of a set of rows after one of them changed. @param before the row's sum, 0 for a new row @param after 0 for a row that goes */
export function changedSum(sum: number, before: number, after: number): number {
  return (sum - before + after + MODULUS) % MODULUS;
}
