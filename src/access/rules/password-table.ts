import type { Sha256 } from "../digests.ts";
import { andThen, type MaybePromise } from "../maybe-promise.ts";
import { SecretTable } from "../secret-table.ts";
import { readBasicCredentials } from "./basic-credentials.ts";

/** User names with the SHA-256 of their passwords in hex. */
export interface Password {
  readonly username: string;
  readonly passwordSha256: string;
}

/** User names and passwords (RFC 7617), each with its holder. Names are compared like passwords, so the time reveals none. */
export class PasswordTable<Holder> {
  readonly #passwords: readonly (readonly [Holder, Password])[];
  readonly #sha256: Sha256;
  /** Made at the first use, since names have to be hashed for it. */
  #table: MaybePromise<SecretTable<Holder>> | undefined;

  constructor(passwords: readonly (readonly [Holder, Password])[], sha256: Sha256) {
    this.#passwords = passwords;
    this.#sha256 = sha256;
  }

  /** The holder of the name and password in an Authorization field. */
  find(authorization: string): MaybePromise<Holder | undefined> {
    const given = readBasicCredentials(authorization);
    if (given === undefined) return undefined;
    return andThen(this.#digest(given.username), (username) =>
      andThen(this.#digest(given.password), (password) =>
        andThen(this.#tableOfAll(), (table) => table.find(username, password)),
      ),
    );
  }

  #tableOfAll(): MaybePromise<SecretTable<Holder>> {
    if (this.#table !== undefined) return this.#table;
    const names = this.#passwords.map(([, { username }]) => this.#digest(username.normalize("NFC")));
    const make = (digests: readonly Uint8Array[]) => {
      this.#table = new SecretTable(
        this.#passwords.map(([holder, { passwordSha256 }], index) => [
          holder,
          hexOf(digests[index]!),
          passwordSha256,
        ]),
      );
      return this.#table;
    };
    this.#table = names.some((name) => name instanceof Promise)
      ? Promise.all(names).then(make)
      : make(names as Uint8Array[]);
    return this.#table;
  }

  #digest(text: string): MaybePromise<Uint8Array> {
    return this.#sha256(new TextEncoder().encode(text));
  }
}

function hexOf(digest: Uint8Array): string {
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
