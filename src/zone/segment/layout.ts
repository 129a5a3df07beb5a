/*
 * What generations consist of on bytes. Every part is a blob: immutable bytes that are named by their hash (hash.ts), so equal content is one
 * blob. 32-bit words in front of and behind the heap are little-endian and 4-aligned; numbers of several bytes in the heap are big-endian, as in
 * DNS. Bytes that only align are 0.
 *
 *   blob          magic u32, format version u32, kind u32 (`BlobKind`), length in bytes u32; then what its kind has
 *
 * A segment has the names of some services, or the stems: names shorter than a service. It refers to nothing outside itself.
 *
 *   header        `SegmentHeader`
 *   heap          runs, record blocks; offsets into it count from the start of the blob
 *   nodes         for each node (`NodeWord`): index of the parent u32, offset of the run u32, offset of the record block u32 with the bits of
 *                 `NodeFlag`. The first nodes are the apexes of the trees, without a parent and a run; an empty non-terminal has no record
 *                 block. 0 for none
 *   slots         u32[slots], a power of two: 0, or the node's index + 1 (`SLOT_ENTRY`) with the high bits of its name's hash; linear
 *                 probing from the low bits of the hash
 *   tables        ASCII JSON: `SegmentTables`
 *
 * What a segment has of one key is contiguous in its heap and in its nodes, and refers to nothing else but apexes: such a block is copied into
 * the next segment as long as the key does not change (blocks/join-blocks.ts). Keys are in ascending order. The first node of a key in a namespace
 * has the run `<label>.<ns>.svc` (or what the tree has) and is below the apex: names in between are stems. In the stems each label has a node.
 *
 *   run           length u8 of the labels, labels (length byte, bytes, case kept), the leftmost first
 *
 * A reverse segment has the PTR targets of some addresses, and no nodes; its slots have offsets of reverse entries.
 *
 *   record block  setCount u8, sets; variantCount, variants (view u16, setCount u8, sets; by the name of the view)
 *   set           type u16, ttl u32 (seconds; high bit: the order of records matters), leaseGroup u16, count u16, data
 *   set data      A 4, AAAA 16, SRV 6 (port u16, target node u32) bytes for each record;
 *                 other types: length u16 and RDATA for each
 *   reverse entry length u8 (4 or 16), address, count, targets
 *   target        view u16, ttl u32 (seconds), leaseGroup u16, tree u16 (high bit: the first label is the address with dashes, and left
 *                 out), length u8 of the labels after it, labels
 *
 *   count         u8; if it is 255, the count is in the u16 after it
 *
 * Names are relative to their zone, so that every alias zone is served from the same tree.
 */

/** "CDZB" read as a little-endian word. */
export const BLOB_MAGIC = 0x425a4443;
/** Loading rejects a blob of another version. */
export const FORMAT_VERSION = 4;
/** Words in front of every blob. */
export const BLOB_WORDS = 4;

/** Word index of each field in front of every blob. */
export const BlobHeader = { magic: 0, version: 1, kind: 2, totalBytes: 3 } as const;

/** What a blob is. */
export const BlobKind = { segment: 1, reverse: 2, page: 3, frame: 4, root: 5 } as const;

/** Words of a segment's header. */
export const SEGMENT_WORDS = 10;
/** Bytes of a segment's header: where its heap starts. */
export const HEAP_START = SEGMENT_WORDS * 4;

/** Word index of each field of a segment's header after those of every blob; counts in entries. */
export const SegmentHeader = { heapEnd: 4, trees: 5, nodes: 6, slots: 7, tablesBytes: 8, seed: 9 } as const;

/** Words of a node. */
export const NODE_WORDS = 3;
/** Index of each word of a node: together, so that a look-up reads one cache line for each node and not three. */
export const NodeWord = { parent: 0, run: 1, records: 2 } as const;

/** The bits of a slot that are what it refers to, plus 1 for nodes; the others are a part of the hash, so that other names are seldom compared. */
export const SLOT_ENTRY = 0xffffff;
/** Slots that a search looks at, at most: the segment's seed is one with which every name is found by then. */
export const MOST_PROBES = 128;

/** Bits of `nodeRecords`; the others are the offset. */
export const NodeFlag = {
  /** The node exists in views that lack its namespace, too: a host of the gateway. */
  everywhere: 0x80000000,
  /** A namespace, in the stems: names below it are in the segments of their keys. */
  stem: 0x40000000,
} as const;
/** The bits of `nodeRecords` that are the offset of the record block. */
export const RECORDS_OFFSET = 0x3fffffff;

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;

/** Bytes of a set before its data. */
export const SET_HEADER_BYTES = 10;
/** Offset of each field of a set after its type. */
export const SetField = { ttl: 2, leaseGroup: 6, count: 8 } as const;
/** Bytes of a reverse target before its labels. */
export const TARGET_HEADER_BYTES = 11;
/** Offset of each field of a reverse target after its view. */
export const TargetField = { ttl: 2, leaseGroup: 6, tree: 8, labelBytes: 10 } as const;
/** The bit of a reverse target's tree that says that its first label is the address. */
export const ADDRESS_LABEL = 0x8000;

/** The reverse target for all views; a target for one view has its index + 1, and wins. */
export const ANY_VIEW = 0;

/**
 * Type of an empty set at `<ns>.pod`: names of one label below it are addresses with dashes, which exist although no segment lists them. From
 * the range for private use (RFC 6895 section 3.1).
 */
export const POD_NAMES = 65280;

/** The bit of a set's TTL that disables the rotation of its records. */
export const KEEP_ORDER = 0x80000000;

/** The small tables of a segment. What they name has its index in the order of first use, but for trees, which are sorted. */
export interface SegmentTables {
  /** The keys of its trees (tree-key.ts). */
  readonly trees: readonly string[];
  /** The names of the views with records of their own: cluster ids, and localities (`localityView`). */
  readonly views: readonly string[];
  /** The cluster ids on which the records of each lease group depend; group 0 depends on none. */
  readonly leaseGroups: readonly (readonly string[])[];
}
