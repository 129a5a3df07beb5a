/**
 * A text that equal ones share their memory with: V8 has names of properties once. Each key of a service is held for each cluster that exports or
 * imports it: read from rows, with 100,000 endpoints of 10 clusters, keys take 2.2 MB, and 0.2 MB if they are shared.
 */
export function sharedText(text: string): string {
  return Object.keys({ [text]: 0 })[0]!;
}
