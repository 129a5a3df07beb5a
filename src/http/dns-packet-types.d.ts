declare module "dns-packet/types.js" {
  /** The number of an RR type by its name or `UNKNOWN_<number>`; 0 for an unknown name. */
  export function toType(name: string): number;
}
