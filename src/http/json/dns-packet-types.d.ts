declare module "dns-packet/types.js" {
  /** The number of an RR type by its name or `UNKNOWN_<number>`; 0 for a name that is not known. */
  export function toType(name: string): number;
}
