import type { Row } from "./report.ts";

/** Samples that come one by one, for rows in the order of their first one. */
export class Samples {
  readonly #rows = new Map<string, { readonly unit: string; readonly samples: number[] }>();

  add(name: string, unit: string, sample: number): void {
    const row = this.#rows.get(name);
    if (row === undefined) this.#rows.set(name, { unit, samples: [sample] });
    else row.samples.push(sample);
  }

  get rows(): Row[] {
    return [...this.#rows].map(([name, row]) => ({ name, ...row }));
  }
}
