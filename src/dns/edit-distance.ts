/**
 * The most changed characters of a text that was meant; of short texts one, since everything is near them.
 */
export function mostChanges(wanted: string): number {
  return wanted.length < 4 ? 1 : 2;
}

/**
 * The least number of inserted, deleted, replaced or swapped neighbouring characters that make one text of
 * another (optimal string alignment), or `most + 1` where there are more. Costs at most the product of both
 * lengths.
 */
export function editDistance(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    let least = row;
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let distance = Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        distance = Math.min(distance, beforeLast[column - 2]! + 1);
      current.push(distance);
      least = Math.min(least, distance);
    }
    if (least > most) return most + 1;
    [beforeLast, last] = [last, current];
  }
  return Math.min(last[other.length]!, most + 1);
}
