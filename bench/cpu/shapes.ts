/** How requests arrive: over so many connections, with so many in flight on each. */
export interface Shape {
  readonly connections: number;
  readonly streams: number;
}

/**
 * Many queries at once as from a resolver in front, single queries of few and of many clients, and one busy
 * client.
 */
export const SHAPES: readonly Shape[] = [
  { connections: 8, streams: 50 },
  { connections: 8, streams: 1 },
  { connections: 64, streams: 1 },
  { connections: 1, streams: 50 },
];

/** Such as `8x50`. */
export function nameOfShape({ connections, streams }: Shape): string {
  return `${connections}x${streams}`;
}

/** @returns undefined unless the text is a list such as `8x50,64x1` */
export function parseShapes(text: string): readonly Shape[] | undefined {
  const shapes = text.split(",").map((part) => /^([1-9]\d{0,3})x([1-9]\d{0,2})$/.exec(part));
  if (shapes.includes(null)) return undefined;
  return shapes.map((parts) => ({ connections: Number(parts![1]), streams: Number(parts![2]) }));
}
