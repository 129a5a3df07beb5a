import * as z from "zod";
import { parseAddressRange } from "../dns/address-range.ts";

export const AddressRangeText = z
  .string()
  .refine(
    (text) => parseAddressRange(text) !== undefined,
    "must be a range of addresses such as 10.0.0.0/8, fd00::/8 or 127.0.0.1",
  );
