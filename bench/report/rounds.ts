import type { Progress, Row } from "./report.ts";

/** Something that is measured again and again. */
export interface Contender {
  readonly name: string;
  readonly unit: string;
  /** Takes one sample. */
  readonly measure: () => Promise<number> | number;
}

/**
 * Lets the contenders take turns (A B C, A B C, …), so that a machine that slows down or is shared does not
 * favour one. Each takes one more sample in front, for the compilers to warm up, which is not counted.
 */
export async function measureInTurns(
  contenders: readonly Contender[],
  rounds: number,
  progress: Progress,
): Promise<Row[]> {
  const rows = contenders.map(({ name, unit }) => ({ name, unit, samples: [] as number[] }));
  for (let round = 0; round <= rounds; round++) {
    progress(round === 0 ? "warming up" : `round ${round} of ${rounds}`);
    for (const [index, { measure }] of contenders.entries()) {
      const sample = await measure();
      if (round > 0) rows[index]!.samples.push(sample);
    }
  }
  return rows;
}
