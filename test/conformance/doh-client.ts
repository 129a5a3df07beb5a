import { expect } from "vitest";
import { type Decoded, decode, encodeQuery } from "../resolve/ask.ts";
import { type Fetch, makeRequest } from "./http-case.ts";

/** Asks by DoH (RFC 8484), as a cluster where one is given. */
export async function askByDoh(
  fetch: Fetch,
  method: "GET" | "POST",
  view: string | undefined,
  [name, type]: readonly [name: string, type: string],
): Promise<Decoded> {
  const message = new Uint8Array(encodeQuery(name, type));
  const path = `${view === undefined ? "" : `/clusters/${view}`}/dns-query`;
  const request =
    method === "GET"
      ? makeRequest({ path: `${path}?dns=${Buffer.from(message).toString("base64url")}` })
      : makeRequest({ method, path, headers: { "content-type": "application/dns-message" }, body: message });
  const response = await fetch(request);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect({ status: response.status, type: response.headers.get("content-type") }, bytes.toString()).toEqual({
    status: 200,
    type: "application/dns-message",
  });
  return decode(bytes);
}

/** Addresses of a name, outside every cluster; undefined where it does not exist, or is not known. */
export async function addressesOf(fetch: Fetch, name: string): Promise<readonly string[] | undefined> {
  const { rcode, answer } = await askByDoh(fetch, "POST", undefined, [name, "A"]);
  return rcode === "NOERROR" ? answer.map((record) => record.split(" ").at(-1)!).sort() : undefined;
}
