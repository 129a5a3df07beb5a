/** Items that are sorted at once: a fraction of a millisecond. */
const ITEMS_AT_ONCE = 512;

/** Sorts as `Array.prototype.sort` does, in steps: to sort 100,000 endpoints takes 40 ms. @returns the array itself, or another one */
export function* sortInSteps<Item>(
  items: Item[],
  compare: (left: Item, right: Item) => number,
): Generator<void, Item[]> {
  if (items.length <= ITEMS_AT_ONCE) return items.sort(compare);
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += ITEMS_AT_ONCE) {
    runs.push(items.slice(at, at + ITEMS_AT_ONCE).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const joined: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [one, other] = [runs[at]!, runs[at + 1]];
      joined.push(other === undefined ? one : yield* joinRuns(one, other, compare));
    }
    runs = joined;
  }
  return runs[0]!;
}

/** Of equal items those of the first run come first. */
function* joinRuns<Item>(
  one: readonly Item[],
  other: readonly Item[],
  compare: (left: Item, right: Item) => number,
): Generator<void, Item[]> {
  const joined: Item[] = [];
  for (let left = 0, right = 0; joined.length < one.length + other.length; ) {
    const isLeft = right === other.length || (left < one.length && compare(one[left]!, other[right]!) <= 0);
    joined.push(isLeft ? one[left++]! : other[right++]!);
    if (joined.length % ITEMS_AT_ONCE === 0) yield;
  }
  return joined;
}
