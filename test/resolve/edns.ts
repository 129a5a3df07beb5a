import dnsPacket from "dns-packet";
import { encodeQuery } from "./ask.ts";

/** The OPT record of a query. */
export interface QueryOptions {
  /** The UDP payload size of the OPT record; none without. */
  readonly payload?: number;
  readonly codes?: readonly number[];
}

/** A query with an OPT record that has empty options. */
export function queryWith(name: string, type: string, { payload, codes = [] }: QueryOptions): Uint8Array {
  const query = encodeQuery(name, type, payload !== undefined);
  if (payload === undefined) return query;
  const options = codes.flatMap((code) => [0, code, 0, 0]);
  const opt = [0, 0, 41, payload >> 8, payload & 255, 0, 0, 0, 0, 0, options.length, ...options];
  return Uint8Array.from([...query.subarray(0, -11), ...opt]);
}

/** The codes and bytes of the options in the answer's OPT record; undefined without an OPT record. */
export function optionsOf(bytes: Uint8Array): Record<number, number[]> | undefined {
  const { additionals = [] } = dnsPacket.decode(Buffer.from(bytes));
  const opt = additionals.find((record) => record.type === "OPT");
  if (opt?.type !== "OPT") return undefined;
  return Object.fromEntries(
    opt.options.map((option) => [option.code, [...((option as { data?: Buffer }).data ?? [])]]),
  );
}
