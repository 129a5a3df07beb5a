import type { Report } from "./findings.ts";

/** The text of an unchecked field; undefined if it is absent, null or empty. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The elements of an unchecked field; none if it is not a list. */
export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reads an optional list; any other value becomes an `InvalidField` finding. */
export function readReportedList(report: Report, field: string, value: unknown): readonly unknown[] {
  if (value !== undefined && value !== null && !Array.isArray(value))
    report("InvalidField", `${field} holds ${quote(value)}, which is not a list; it is left out`);
  return readList(value);
}

/** The members of an unchecked field; none if it is not a mapping. */
export function readMapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

/** The value of a label; undefined if the object does not have it. */
export function readLabel(labels: unknown, key: string): string | undefined {
  const mapping = readMapping(labels);
  if (!Object.hasOwn(mapping, key)) return undefined;
  const value = mapping[key];
  return typeof value === "string" ? value : undefined;
}

/** A value as findings quote it: JSON, cut to 80 characters. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

/** Reads an optional text of at most `most` characters; any other value becomes an `InvalidField` finding. */
export function readBoundedText(
  report: Report,
  field: string,
  value: unknown,
  most: number,
): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" && value.length <= most) return value;
  return report(
    "InvalidField",
    `${field} holds ${quote(value)}, which is not a text of up to ${most} characters; it is left out`,
  );
}

/** Reads a list of texts; elements that do not fit, and those after `mostElements`, become findings. */
export function readTexts(
  report: Report,
  field: string,
  value: unknown,
  most: number,
  mostElements: number,
): string[] {
  const texts = readReportedList(report, field, value).flatMap(
    (element, index) => readBoundedText(report, `${field}[${index}]`, element, most) ?? [],
  );
  return keepFirst(report, field, texts, mostElements);
}

/** The first `most` elements; more elements become a `TooMany` finding. */
export function keepFirst<Element>(
  report: Report,
  field: string,
  elements: Element[],
  most: number,
): Element[] {
  if (elements.length <= most) return elements;
  report(
    "TooMany",
    `${field} has ${elements.length} elements; the first ${most} are kept, the others left out`,
  );
  return elements.slice(0, most);
}

/** Orders text by UTF-16 code unit, so that a snapshot does not depend on the locale. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Sets an entry of a map; undefined removes it. */
export function setOrDelete<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}
