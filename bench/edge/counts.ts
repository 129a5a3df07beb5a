/** What a location's cache was asked. */
export interface CacheCounts {
  hits: number;
  misses: number;
  puts: number;
  deletes: number;
  /** In bodies that were found. */
  bytes: number;
}

/** What the object was asked, and what it wrote. */
export interface ObjectCounts {
  state: number;
  /** Keys, lists, and what else a query needs. */
  parts: number;
  pushes: number;
  /** As SQLite's cursors count them, and as they are billed; alarms come on top. */
  rowsWritten: number;
  /** In bodies of answers to isolates, not to pushes. */
  bytes: number;
}
