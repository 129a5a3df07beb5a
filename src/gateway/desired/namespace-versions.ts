/** Which namespaces a cluster has, each with the version since which it has it, or has it no more. */
export class NamespaceVersions {
  readonly #known = new Map<string, { readonly version: number; readonly isThere: boolean }>();
  readonly #mostRemoved: number;
  #forgotten: number;

  /**
   * @param version the one at which nothing is known of the cluster
   * @param mostRemoved namespaces that the cluster has no more and are remembered
   */
  constructor(version: number, mostRemoved = 1000) {
    this.#forgotten = version;
    this.#mostRemoved = mostRemoved;
  }

  /** The version up to which removed namespaces may be forgotten. */
  get forgotten(): number {
    return this.#forgotten;
  }

  has(namespace: string): boolean {
    return this.#known.get(namespace)?.isThere === true;
  }

  /** Whether that changed after a version. */
  hasChanged(namespace: string, after: number): boolean {
    return (this.#known.get(namespace)?.version ?? 0) > after;
  }

  /** Takes over what a cluster has. @returns the namespaces that it has now and had not, or the reverse */
  take(namespaces: ReadonlySet<string>, version: number): string[] {
    const changed = [
      ...[...namespaces].filter((namespace) => !this.has(namespace)),
      ...[...this.#known].flatMap(([namespace, { isThere }]) =>
        isThere && !namespaces.has(namespace) ? namespace : [],
      ),
    ];
    for (const namespace of changed) {
      this.#known.delete(namespace);
      this.#known.set(namespace, { version, isThere: namespaces.has(namespace) });
    }
    const removed = [...this.#known].filter(([, { isThere }]) => !isThere);
    for (const [namespace, { version: since }] of removed.slice(
      0,
      Math.max(0, removed.length - this.#mostRemoved),
    )) {
      this.#known.delete(namespace);
      this.#forgotten = since;
    }
    return changed;
  }
}
