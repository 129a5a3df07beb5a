/*
 * What generations consist of on bytes. Every part is a blob: immutable bytes that are named by their hash (hash.ts), so equal content is one
 * blob. 32-bit words of headers are little-endian and 4-aligned; numbers of several bytes elsewhere are big-endian, as in
 * DNS, unless it says otherwise. Bytes that only align are 0.
 *
 *   blob          magic u32, format version u32, kind u32 (`BlobKind`), length in bytes u32; then what its kind has
 *
 * A segment has the names of some services, or the stems: names shorter than a service. It refers to nothing outside itself.
 *
 *   header        `SegmentHeader`
 *   heap          names, one after the other
 *   terms         for each: ttl u32 (seconds; high bit: the order of records matters), leaseGroup u16
 *   slots         3 bytes each, little-endian, or 4 in a segment whose heap ends at 2^16 or later: 0, or the offset of a name, with bits of its
 *                 hash above the bits that offsets need (slots.ts); linear probing
 *   tables        ASCII JSON: `SegmentTables`, from a multiple of 4 on: so the change of a segment (transfer/) does not have tables that stayed
 *
 * A name has all that a query needs in one place, so that a look-up reads one or two cache lines (offsets count from the start of the blob):
 *
 *   name          form u8 (`NameForm`), parent, run, record block if it has one
 *   parent        below an apex: tree u16; otherwise how far in front the parent is: u8, u16 or u32
 *   run           length u8 of the labels, labels (length byte, bytes, case kept), the leftmost first. That of an apex is empty: only the stems have
 *                 apexes
 *
 * What a segment has of one key is contiguous and refers to nothing else: it is copied into the next segment as long as the key does not change, and
 * only indices of tables become other ones (blocks/join-blocks.ts). Keys are in ascending order. The first name of a key in a namespace has the run
 * `<label>.<ns>.svc` (or what the tree has) and is below the apex: names in between are stems. In the stems each label has a name.
 *
 *   record block  setCount u8, sets; if the form says so, variantCount, variants (view u16, setCount u8, sets; by the name of the view)
 *   set           type u8, terms u16, count, data
 *   set data      A 4, AAAA 16, SRV 6 (port u16; how far behind the start of the record its target's name is, i32) bytes for each record;
 *                 other types: length u16 and RDATA for each
 *
 * A reverse segment has the PTR targets of some addresses. Its heap has reverse entries, its terms are view u16, ttl u32, tree u16, and its slots
 * have the offsets of entries.
 *
 *   reverse entry length u8 (4 or 16), address, count, targets
 *   target        terms u16, leaseGroup u16, form u8 (`TargetForm`), length u8 of the labels that the form does not leave out, labels
 *
 *   count         u8; if it is 255, the count is in the u16 after it
 *
 * Names are relative to their zone, so that every alias zone is served from the same tree.
 */

/** "CDZB" read as a little-endian word. */
export const BLOB_MAGIC = 0x425a4443;
/** Loading rejects a blob of another version. */
export const FORMAT_VERSION = 6;
/** Words in front of every blob. */
export const BLOB_WORDS = 4;

/** Word index of each field in front of every blob. */
export const BlobHeader = { magic: 0, version: 1, kind: 2, totalBytes: 3 } as const;

/** What a blob is. */
export const BlobKind = { segment: 1, reverse: 2, page: 3, frame: 4, root: 5 } as const;

/** Words of a segment's header. */
export const SEGMENT_WORDS = 11;
/** Bytes of a segment's header: where its heap starts. */
export const HEAP_START = SEGMENT_WORDS * 4;

/** Word index of each field of a segment's header after those of every blob; counts in entries. */
export const SegmentHeader = {
  heapEnd: 4,
  trees: 5,
  names: 6,
  terms: 7,
  slots: 8,
  tablesBytes: 9,
  seed: 10,
} as const;

/** Bytes of the terms of sets, and of reverse targets. */
export const TERMS_BYTES = 6;
export const REVERSE_TERMS_BYTES = 8;

/** Slots that a search looks at, at most: the segment's seed is one with which every name is found by then. */
export const MOST_PROBES = 128;
/** The heap of a segment ends below: two bits of a hash fit into a slot of 4 bytes. */
export const MOST_HEAP_BYTES = 0x3fffffff;

/** The bits of a name's form. The lowest two say which form its parent has. */
export const NameForm = {
  parent: 0x03,
  records: 0x04,
  /** Its record block has variants. */
  variants: 0x08,
  everywhere: 0x10,
  stem: 0x20,
} as const;
/** The form of a parent that is an apex. */
export const BELOW_APEX = 0;
/** Bytes of a parent by its form. */
export const PARENT_BYTES = [2, 1, 2, 4] as const;

/** The bits of a name's form that look-ups ask for. */
export const NodeFlag = {
  /** The name exists in views that lack its namespace, too: a host of the gateway. */
  everywhere: NameForm.everywhere,
  /** A namespace, in the stems: names below it are in the segments of their keys. */
  stem: NameForm.stem,
} as const;

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;

/** Offset of each field of a set after its type. */
export const SetField = { terms: 1, count: 3 } as const;
/** Bytes of a reverse target before its labels. */
export const TARGET_HEADER_BYTES = 6;
/** Offset of each field of a reverse target after its terms. */
export const TargetField = { leaseGroup: 2, form: 4, labelBytes: 5 } as const;
/** Which labels of a reverse target's name are left out. */
export const TargetForm = {
  /** The first label is the address with dashes. */
  address: 1,
  /** After the first label come those of the only cluster of its lease group. */
  cluster: 2,
} as const;

/** The reverse target for all views; a target for one view has its index + 1, and wins. */
export const ANY_VIEW = 0;

/**
 * Type of an empty set at `<ns>.pod`: names of one label below it are addresses with dashes, which exist although no segment lists them. No
 * record has this type (RFC 6895 section 3.1).
 */
export const POD_NAMES = 0;

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
