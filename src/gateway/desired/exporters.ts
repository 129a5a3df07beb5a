/** Which clusters export into which namespaces: so that the exporters of a cluster's namespaces are found without a walk over all services. */
export class Exporters {
  /** By exporter: how many services it exports in each namespace. */
  readonly #services = new Map<string, Map<string, number>>();

  /** A service of a namespace has other exporters. */
  change(namespace: string, before: readonly string[], after: readonly string[]): void {
    for (const exporter of after) this.#count(exporter, namespace, 1);
    for (const exporter of before) this.#count(exporter, namespace, -1);
  }

  /** The clusters that export a service in one of these namespaces. */
  *within(namespaces: { has(namespace: string): boolean }): Generator<string> {
    for (const [exporter, exported] of this.#services)
      for (const namespace of exported.keys())
        if (namespaces.has(namespace)) {
          yield exporter;
          break;
        }
  }

  #count(exporter: string, namespace: string, change: 1 | -1): void {
    const exported = this.#services.get(exporter) ?? new Map<string, number>();
    const services = (exported.get(namespace) ?? 0) + change;
    if (services > 0) exported.set(namespace, services);
    else exported.delete(namespace);
    if (exported.size > 0) this.#services.set(exporter, exported);
    else this.#services.delete(exporter);
  }
}
