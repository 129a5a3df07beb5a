import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import { pathOfPrototypeKey } from "../../snapshot/json-value.ts";
import type { HeldState } from "../../snapshot/lines/held-state.ts";
import type { ReadLine } from "../../snapshot/lines/lines-reader.ts";
import { LinesStage } from "../../snapshot/lines/lines-stage.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { Turns } from "../turns.ts";

/** Lines of one piece of work. */
const LINES_AT_ONCE = 64;

/**
 * What lines of a log change in a state: they are validated as if a worker had pushed them.
 * @throws {SnapshotError} naming each field that is wrong
 */
export function* changesOf(lines: Iterable<PatchLine>, held: HeldState): Generator<void, SnapshotDelta> {
  const stage = new LinesStage("changes", held);
  let number = 0;
  for (const change of lines) yield* stage.apply(readLine(change, ++number));
  return yield* stage.finish();
}

/** All lines of a state, taken as they come. @throws {SnapshotError} naming each field that is wrong @throws {StoreError} if they cannot be read */
export async function stageAll(
  lines: AsyncIterable<PatchLine>,
  held: HeldState,
  turns: Pick<Turns, "run">,
): Promise<LinesStage> {
  const stage = new LinesStage("whole", held);
  let number = 0;
  let gathered: PatchLine[] = [];
  const take = async () => {
    const some = gathered;
    gathered = [];
    await turns.run(
      (function* () {
        for (const change of some) {
          yield* stage.apply(readLine(change, ++number));
          yield;
        }
      })(),
    );
  };
  for await (const line of lines) if (gathered.push(line) === LINES_AT_ONCE) await take();
  await take();
  return stage;
}

function readLine(change: PatchLine, number: number): ReadLine {
  const hasPrototypeKey = pathOfPrototypeKey(change.at(-1)) !== undefined;
  return { number, change, text: "", values: 1, hasPrototypeKey };
}
