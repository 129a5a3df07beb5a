/** When things changed last, the newest changes up to a number of things. */
export class RecentChanges {
  /** In the order of versions. */
  readonly #versions = new Map<string, number>();
  readonly #most: number;
  #forgotten: number;

  /**
   * @param most things that are remembered
   * @param forgotten the version up to which nothing is known
   */
  constructor(most: number, forgotten = 0) {
    this.#most = most;
    this.#forgotten = forgotten;
  }

  /** The version up to which changes may be forgotten. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Takes over that something changed with a version, which is the newest. */
  note(name: string, version: number): void {
    this.#versions.delete(name);
    this.#versions.set(name, version);
    if (this.#versions.size <= this.#most) return;
    const [oldest, forgotten] = this.#versions.entries().next().value!;
    this.#versions.delete(oldest);
    this.#forgotten = forgotten;
  }

  hasChanged(name: string, after: number): boolean {
    return (this.#versions.get(name) ?? 0) > after;
  }

  /** What changed after a version. */
  *since(after: number): Generator<string> {
    for (const [name, version] of this.#versions) if (version > after) yield name;
  }
}
