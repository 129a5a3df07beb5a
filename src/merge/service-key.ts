/** The namespace in the key of a service: `<namespace>/<name>`. */
export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** The name in the key of a service. */
export function nameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
