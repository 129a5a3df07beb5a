/** For which other source clusters what clusters import counts, by cluster id: all, or some. A cluster that is absent speaks for itself alone. */
export type Grants = ReadonlyMap<string, "*" | ReadonlySet<string>>;
