import { type Packed, unpack } from "../../snapshot/packed-entry.ts";
import type { ExportedService, ImportedService } from "../../snapshot/schema.ts";
import type { Contribution } from "../service/declaration.ts";

/** What a cluster contributes to a service, as it is kept. */
export interface Part extends Pick<Contribution, "clusterId" | "setBack" | "importedSince"> {
  readonly exported: Packed<ExportedService> | undefined;
  readonly imported: Packed<ImportedService> | undefined;
}

interface Unpacked {
  readonly contributions: readonly Contribution[];
  readonly characters: number;
}

/** The services that were asked for last, unpacked: compiling a segment asks for each of its services, whatever changed, and each scope does. */
export class UnpackedParts {
  /** The one that was used last is the last one. */
  readonly #services = new Map<string, Unpacked>();
  readonly #most: number;
  #characters = 0;

  /** @param most packed characters of all that is unpacked; as objects they take about four bytes each */
  constructor(most: number) {
    this.#most = most;
  }

  /** The contributions to a service. */
  of(key: string, parts: readonly Part[]): readonly Contribution[] {
    const known = this.#services.get(key);
    if (known !== undefined) {
      this.#services.delete(key);
      this.#services.set(key, known);
      return known.contributions;
    }
    const contributions = parts.map(unpackPart);
    const characters = parts.reduce((sum, part) => sum + charactersOf(part), 0);
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

function unpackPart({ exported, imported, ...part }: Part): Contribution {
  return {
    ...part,
    exported: exported === undefined ? undefined : unpack(exported),
    imported: imported === undefined ? undefined : unpack(imported),
  };
}

/** Characters of what is packed. */
function charactersOf({ exported, imported }: Part): number {
  return lengthOf(exported) + lengthOf(imported);
}

function lengthOf(packed: Packed | undefined): number {
  return typeof packed === "string" ? packed.length : 0;
}
