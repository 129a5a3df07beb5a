/** RR types that the gateway writes or treats specially (IANA DNS Parameters). */
export const RecordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DNAME: 39,
  OPT: 41,
  RRSIG: 46,
  NSEC: 47,
  NSEC3: 50,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

/** CLASS IN (RFC 1035 section 3.2.4). */
export const CLASS_IN = 1;

/** Response codes (RFC 1035 section 4.1.1, RFC 6891 section 9). */
export const ResponseCode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

/** EDNS option codes (RFC 7828, RFC 7830, RFC 8914). */
export const EdnsOption = { TCP_KEEPALIVE: 11, PADDING: 12, EXTENDED_ERROR: 15 } as const;

/** Extended DNS Error info codes (RFC 8914 section 4). */
export const ExtendedError = {
  OTHER: 0,
  STALE_ANSWER: 3,
  CACHED_ERROR: 13,
  NOT_READY: 14,
  BLOCKED: 15,
  PROHIBITED: 18,
  STALE_NXDOMAIN: 19,
  NOT_AUTHORITATIVE: 20,
  NOT_SUPPORTED: 21,
  NO_REACHABLE_AUTHORITY: 22,
  NETWORK_ERROR: 23,
} as const;

/** Bits of the second 16-bit word of the header (RFC 1035 section 4.1.1, RFC 4035 section 3). */
export const HeaderFlag = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, CD: 0x0010 } as const;

/** Size of the message header in bytes. */
export const HEADER_BYTES = 12;
/** The longest name on the wire in bytes, the root label included (RFC 1035 section 2.3.4). */
export const MAX_NAME_BYTES = 255;
/** The longest label in bytes (RFC 1035 section 2.3.4). */
export const MAX_LABEL_BYTES = 63;
