import type { Table } from "./report.ts";
import { judge, ratioIn, rowOf, type Spread, spreadOf } from "./statistics.ts";

/** Writes a table as text: medians, smallest and largest values, ratios to each baseline, goals, notes. */
export function formatTable(table: Table): string {
  const baselines = table.baselines.map((name) => rowOf(table, name));
  const head = ["", "unit", "median", "min – max", ...baselines.map(({ name }) => `÷ ${name}`)];
  const body = table.rows.map((row) => {
    const spread = spreadOf(row.samples);
    const ratios = baselines.map((baseline) => {
      const ratio = ratioIn(table, row, baseline);
      if (ratio === undefined) return "";
      const { median, ofBest } = ratio;
      if (table.ofMedians) return formatNumber(median);
      return `${formatNumber(median)} (${[formatRange(ratio), `best ${formatNumber(ofBest)}`].filter(Boolean).join("; ")})`;
    });
    return [row.name, row.unit, formatNumber(spread.median), formatRange(spread), ...ratios];
  });
  const goals = table.goals.map((goal) => {
    const { value, reached } = judge(table, goal);
    const what = goal.dividedBy === undefined ? goal.row : `${goal.row} ÷ ${goal.dividedBy}`;
    const bound =
      "atMost" in goal ? `at most ${formatNumber(goal.atMost)}` : `at least ${formatNumber(goal.atLeast)}`;
    return `  goal: ${what} ${bound}: ${formatNumber(value)}, ${reached ? "reached" : "MISSED"}`;
  });
  return [
    table.title,
    ...alignColumns([head, ...body]).map((line) => `  ${line}`),
    ...goals,
    ...table.notes.map((note) => `  ${note}`),
    "",
  ].join("\n");
}

function alignColumns(lines: readonly (readonly string[])[]): string[] {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  return lines.map((cells) =>
    cells
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  ")
      .trimEnd(),
  );
}

function formatRange({ least, most }: Spread): string {
  return least === most ? "" : `${formatNumber(least)} – ${formatNumber(most)}`;
}

/** Three significant digits, or all digits before the point. */
function formatNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return value.toPrecision(3);
}
