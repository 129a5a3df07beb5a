import { styleText } from "node:util";

/** How a level looks. */
const STYLES = {
  debug: "dim",
  info: "green",
  warn: "yellow",
  error: "red",
} as const satisfies Record<string, Parameters<typeof styleText>[0]>;

/** Fields that are not shown as such. */
const KNOWN: ReadonlySet<string> = new Set(["level", "time", "command", "msg"]);

/**
 * A line of the log for a person at a terminal: the time of day, the level, the message, then the other fields. Bytes that could confuse the terminal
 * are escaped.
 * @param json a line of the log
 */
export function terminalLine(json: string, isColoured: boolean): string {
  const entry = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  const level = String(entry.level);
  const name = level.toUpperCase().padEnd(5);
  const shown = Object.hasOwn(STYLES, level) ? style(STYLES[level as keyof typeof STYLES], name) : name;
  const time = new Date(String(entry.time)).toTimeString().slice(0, 8);
  const fields = Object.entries(entry).flatMap(([key, value]) =>
    KNOWN.has(key) ? [] : `${key}=${fieldText(value)}`,
  );
  const more = fields.length === 0 ? "" : `  ${style("dim", printable(fields.join(" ")))}`;
  return `${style("dim", time)} ${shown} ${printable(String(entry.msg ?? ""))}${more}\n`;
}

/** An error by its message; its stack is in the JSON form. */
function fieldText(value: unknown): string {
  if (typeof value === "string") return /^[\w./:@%+,[\]-]+$/.test(value) ? value : JSON.stringify(value);
  const { message } = (value ?? {}) as { readonly message?: unknown };
  return typeof message === "string" ? JSON.stringify(message) : JSON.stringify(value);
}

/** A text from elsewhere for a terminal: line breaks become spaces, other control and format characters are escaped. */
export function printable(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
