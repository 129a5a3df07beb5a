/** A function of one object that gives the same result for the same object, as long as somebody has that object. */
export function memoize<Given extends object, Result>(
  compute: (given: Given) => Result,
): (given: Given) => Result {
  const known = new WeakMap<Given, { readonly result: Result }>();
  return (given) => {
    let memo = known.get(given);
    if (memo === undefined) {
      memo = { result: compute(given) };
      known.set(given, memo);
    }
    return memo.result;
  };
}

/** The entries that `keep` gives something for, with what it gives; the same object where nothing changes. */
export function filterRecord<Value>(
  record: Record<string, Value>,
  keep: (value: Value, key: string) => Value | undefined,
): Record<string, Value> {
  const kept: Record<string, Value> = {};
  let isSame = true;
  for (const key of Object.keys(record)) {
    const value = keep(record[key]!, key);
    if (value !== undefined) kept[key] = value;
    if (value !== record[key]) isSame = false;
  }
  return isSame ? record : kept;
}

/** The elements that stay; the same object where all do. */
export function filterList<Element>(list: Element[], keep: (element: Element) => boolean): Element[] {
  return list.every(keep) ? list : list.filter(keep);
}
