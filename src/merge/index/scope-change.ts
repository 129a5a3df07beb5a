/** What changed in a scope since it was last settled. */
export interface ScopeChange {
  /** Whether clusters joined or left, or have other namespaces, another topology or another zone of their own. */
  readonly clusters: boolean;
  /** Every service with a part that changed, and those that may be another one for a cluster with another namespace. */
  readonly services: ReadonlySet<string>;
  /** By cluster id: Services and pods of its own zone that changed. */
  readonly local: ReadonlyMap<string, { readonly services: Set<string>; readonly pods: Set<string> }>;
}

/** What is known of services that were merged before. */
export interface ResumedServices {
  readonly sizes: ReadonlyMap<string, number>;
  readonly reported: ReadonlySet<string>;
  /** Whether clusters that are not live had a view. */
  readonly withAbsent: boolean;
}
