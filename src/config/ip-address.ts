import * as z from "zod";
import { usableAddress } from "../dns/address.ts";

/** An IP address in text that a record can hold. */
export const IpAddress = z
  .string()
  .refine((text) => usableAddress(text) !== undefined, "must be an IP address such as 192.0.2.1");
