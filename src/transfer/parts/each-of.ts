/**
 * Runs something for each entry, a few at the same time.
 * @throws what `run` throws first; no further entry is begun then
 */
export async function eachOf<Entry>(
  entries: Iterable<Entry>,
  parallel: number,
  run: (entry: Entry) => Promise<void>,
): Promise<void> {
  const left = entries[Symbol.iterator]();
  let hasFailed = false;
  const work = async () => {
    for (let next = left.next(); !next.done && !hasFailed; next = left.next())
      try {
        await run(next.value);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
  };
  await Promise.all(Array.from({ length: parallel }, work));
}
