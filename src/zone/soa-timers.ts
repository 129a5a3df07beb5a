/** REFRESH, RETRY and EXPIRE of our SOA records in seconds (RFC 1912 section 2.2). They have no effect: the gateway answers no zone transfers. */
export const SOA_TIMERS = { refresh: 7200, retry: 1800, expire: 86400 } as const;
