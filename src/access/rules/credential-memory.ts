import type { Client } from "../client.ts";
import type { Admitted } from "../rule.ts";

/** The longest Authorization field that is remembered, in characters. */
const LONGEST = 512;

/**
 * Remembers the Authorization field that each connection was admitted by last, since hashing its secret again for every request costs more than
 * the answer. A connection's HPACK table has the field anyway.
 */
export class CredentialMemory {
  readonly #last = new WeakMap<
    Partial<Client>,
    { readonly authorization: string; readonly admitted: Admitted }
  >();

  /** In a time that does not depend on where the texts differ. */
  find(client: Partial<Client> | undefined, authorization: string): Admitted | undefined {
    if (client?.isOfConnection !== true) return undefined;
    const last = this.#last.get(client);
    return last !== undefined && isSame(last.authorization, authorization) ? last.admitted : undefined;
  }

  keep(client: Partial<Client> | undefined, authorization: string, admitted: Admitted): void {
    if (client?.isOfConnection === true && authorization.length <= LONGEST)
      this.#last.set(client, { authorization, admitted });
  }
}

function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < one.length; index++)
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}
