/** Learns what changes in a scope. It must not look at anything before the change is over. */
export interface ScopeFollower {
  /** A cluster changed some keys, as the log names them. */
  changed(cluster: string, keys: readonly string[]): void;
  /** A cluster came or went. */
  clusterChanged(cluster: string): void;
  /** Any key of any cluster may have changed. */
  everythingChanged(): void;
}
