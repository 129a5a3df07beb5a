import { UsageError } from "../../../config/values.ts";
import { LEAST_KEY_CHARACTERS, TransferKeys } from "../../../transfer/signature.ts";
import { readToken } from "../access/token-file.ts";

/** The key that a primary signs with, from a file that may change while the gateway runs. */
export class TransferKeyFile {
  readonly #file: string;
  #secret = "";
  #keys: TransferKeys = new TransferKeys([]);

  private constructor(file: string) {
    this.#file = file;
  }

  /** @throws {UsageError} if the file has no key */
  static async load(file: string): Promise<TransferKeyFile> {
    const loaded = new TransferKeyFile(file);
    await loaded.refresh();
    return loaded;
  }

  /** The key in force. */
  readonly current = (): TransferKeys => this.#keys;

  /**
   * Reads the file again. If that fails, the last key stays in force.
   * @returns whether the key changed
   * @throws {UsageError} where the file holds no key
   */
  async refresh(): Promise<boolean> {
    const secret = await readToken(this.#file);
    if (secret.length < LEAST_KEY_CHARACTERS)
      throw new UsageError(
        `transfer.keyFile: the key in ${this.#file} has less than ${LEAST_KEY_CHARACTERS} characters: clusterset-doh token > ${this.#file}`,
      );
    if (secret === this.#secret) return false;
    this.#secret = secret;
    this.#keys = new TransferKeys([secret]);
    return true;
  }
}
