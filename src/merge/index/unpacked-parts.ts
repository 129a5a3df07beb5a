import { unpack } from "../../snapshot/held/packed-entry.ts";
import type { Contribution } from "../service/declaration.ts";
import type { PackedPart } from "./part.ts";

interface Unpacked {
  readonly contributions: readonly Contribution[];
  readonly characters: number;
}

/** The services that were used last, unpacked: compiling a segment reads each of its services, whatever changed, once in each scope. */
export class UnpackedParts {
  /** The one that was used last is the last one. */
  readonly #services = new Map<string, Unpacked>();
  readonly #most: number;
  #characters = 0;

  /** @param most packed characters of all that is unpacked; as objects they take about four bytes each */
  constructor(most: number) {
    this.#most = most;
  }

  /** The contributions to a service. @param read gives its parts; called where they are not unpacked yet */
  of(key: string, read: () => readonly PackedPart[]): readonly Contribution[] {
    const known = this.#services.get(key);
    if (known !== undefined) {
      this.#services.delete(key);
      this.#services.set(key, known);
      return known.contributions;
    }
    const parts = read();
    const contributions = parts.map(unpackPart);
    const characters = parts.reduce((sum, part) => sum + part.characters, 0);
    this.#services.set(key, { contributions, characters });
    this.#characters += characters;
    for (const oldest of this.#services.keys()) {
      if (this.#characters <= this.#most) break;
      this.drop(oldest);
    }
    return contributions;
  }

  /** Forgets a service, whose parts changed. */
  drop(key: string): void {
    this.#characters -= this.#services.get(key)?.characters ?? 0;
    this.#services.delete(key);
  }
}

function unpackPart({
  exported,
  imported: packed,
  importedSince,
  characters: _,
  ...part
}: PackedPart): Contribution {
  const entry = packed === undefined ? undefined : unpack(packed);
  const [imported, managed] = entry?.managed === true ? [undefined, entry] : [entry, undefined];
  return {
    ...part,
    exported: exported === undefined ? undefined : unpack(exported),
    ...{ imported, managed, importedSince: imported && importedSince },
  };
}
