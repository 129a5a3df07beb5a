/** Orders text by UTF-16 code unit, so that no locale ever changes an answer. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
