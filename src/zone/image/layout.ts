/*
 * The ZoneImage on bytes. All 32-bit words are little-endian and 4-aligned, so that sections are typed-array
 * views and loading parses nothing but the small tables.
 *
 *   header        HEADER_WORDS words, see `Header`
 *   slots         u32[], a power of two of them: node index + 1, or 0; linear probing from spread(hash)
 *   nodeParent    u32[nodes]: index of the parent; the first nodes are the apexes of the trees
 *   nodeLabel     u32[nodes]: offset in the heap of the label (length byte, bytes, case kept)
 *   nodeRecords   u32[nodes]: offset in the heap of the node's record block; 0 for an empty non-terminal
 *   reverseSlots  u32[], a power of two of them: offset in the heap of a reverse entry, or 0
 *   nodeNamespace u16[nodes]: namespace index + 1, or 0 for names without a namespace
 *   lacking       u8[views][ceil(namespaces / 8)]: bit set where the view's cluster lacks the namespace
 *   tables        ASCII JSON: `ImageTables`
 *   heap          labels, record blocks, reverse entries; offset 0 is unused
 *
 * Names are stored relative to their zone, so that every alias zone is served from the same tree; one zone name can
 * be another tree for each view.
 *
 *   record block  setCount u8, sets; variantCount, variants (view u16, setCount u8, sets; by ascending view)
 *   set           type u16, ttl u8 (index into `ttls`; high bit: the order of records matters), leaseGroup u16,
 *                 count u16, data
 *   set data      A 4, AAAA 16, SRV 6 (port u16, target node u32) bytes for each record;
 *                 other types: length u16 and RDATA for each
 *   reverse entry length u8 (4 or 16), bytes, count, targets (asker u16, ttl u8, leaseGroup u16, node u32)
 *
 *   count         u8; if it is 255, the count is in the u16 after it
 *
 * Numbers of several bytes in the heap are big-endian, as in DNS.
 */

/** "CDZI" read as a little-endian word. */
export const IMAGE_MAGIC = 0x495a4443;
/** Loading rejects an image of another version. */
export const IMAGE_FORMAT_VERSION = 2;
/** Words of the header. */
export const HEADER_WORDS = 21;

/** Word index of each header field; offsets and sizes are in bytes, counts in entries. */
export const Header = {
  magic: 0,
  version: 1,
  totalBytes: 2,
  /** 128-bit content hash over everything but the header. */
  contentHash: 3,
  serial: 7,
  nodes: 8,
  slots: 9,
  reverseSlots: 10,
  namespaces: 11,
  slotsAt: 12,
  nodesAt: 13,
  reverseSlotsAt: 14,
  nodeNamespaceAt: 15,
  lackingAt: 16,
  tablesAt: 17,
  tablesBytes: 18,
  heapAt: 19,
  trees: 20,
} as const;

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;

/** Bytes of a set before its data. */
export const SET_HEADER_BYTES = 7;
/** Bytes of one target of a reverse entry. */
export const REVERSE_TARGET_BYTES = 9;

/** The reverse target for all views; a target for one view has its index + 1, and wins. */
export const ANY_ASKER = 0;

/**
 * Type of an empty set at `<ns>.pod`: names of one label below it are addresses with dashes, which exist although
 * the image does not list them. From the range for private use (RFC 6895 section 3.1).
 */
export const POD_NAMES = 65280;

/** The bit of a set's TTL byte that disables the rotation of its records. */
export const KEEP_ORDER = 0x80;

/** The trees of a zone name. */
export interface ZoneTable {
  /** Zone name in text with the trailing dot. */
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own; -1 if the zone does not exist for them. */
  readonly tree: number;
  /** Trees of single views, by view index. */
  readonly byView: readonly (readonly [view: number, tree: number])[];
}

/** The small tables of an image. */
export interface ImageTables {
  /** The first zone of a tree is its canonical one, which owns PTR targets. */
  readonly zones: readonly ZoneTable[];
  /** Whether a name has the marker `POD_NAMES`. */
  readonly podNames: boolean;
  /** The node of `ns.dns` in each tree. */
  readonly nameServers: readonly number[];
  /** Cluster ids in the order of view indices; then localities of clients outside, named by `localityView`. */
  readonly views: readonly string[];
  /** The cluster ids on which the records of each lease group depend; group 0 depends on none. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** TTLs in seconds, by index. */
  readonly ttls: readonly number[];
  /** Negative TTL and SOA MINIMUM in seconds (RFC 2308). */
  readonly negativeTtl: number;
}
