/** An OPT record for dns-packet. */
export function optRecord(
  options: readonly unknown[] = [],
  { flag_do = false, udpPayloadSize = 4096 }: { flag_do?: boolean; udpPayloadSize?: number } = {},
) {
  return {
    type: "OPT",
    name: ".",
    udpPayloadSize,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: flag_do ? 0x8000 : 0,
    flag_do,
    options: options as never,
  } as const;
}
