import * as z from "zod";
import { LINES_FORMAT_VERSION } from "../../snapshot/lines/patch-line.ts";
import { ClusterMeta } from "../cluster-meta.ts";
import { encodeLine } from "./checksum-line.ts";
import { LineReader, type SoundLine } from "./line-reader.ts";
import { TURN_BYTES } from "./turn.ts";

const Head = z.strictObject({
  formatVersion: z.literal(LINES_FORMAT_VERSION),
  clusterId: z.string(),
  meta: ClusterMeta,
});
type Head = z.infer<typeof Head>;

const End = z.strictObject({ lines: z.int() });

/** The parts of a file with all that a cluster has: a head, `lines`, and an end with their number. */
export async function* snapshotParts(
  clusterId: string,
  meta: ClusterMeta,
  lines: Iterable<Buffer> | AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const head: Head = { formatVersion: LINES_FORMAT_VERSION, clusterId, meta };
  let part = [encodeLine(head)];
  let bytes = 0;
  let count = 0;
  for await (const line of lines) {
    part.push(line);
    count++;
    bytes += line.length;
    if (bytes < TURN_BYTES) continue;
    yield Buffer.concat(part);
    part = [];
    bytes = 0;
  }
  part.push(encodeLine({ lines: count } satisfies z.infer<typeof End>));
  yield Buffer.concat(part);
}

/** A file with all that a cluster has, while it is read. */
export class SnapshotFile {
  readonly #reader: LineReader;
  readonly #clusterId: string;
  #meta: ClusterMeta | undefined;

  constructor(path: string, clusterId: string) {
    this.#reader = new LineReader(path);
    this.#clusterId = clusterId;
  }

  /** Its length, once it was read. */
  get bytes(): number {
    return this.#reader.fileBytes;
  }

  /** The cluster's meta; known with the first line. */
  get meta(): ClusterMeta {
    if (this.#meta === undefined) throw new Error("it was not read yet");
    return this.#meta;
  }

  /**
   * The changes in it, those of one turn together. They count only if the last one is reached.
   * @throws {Error} saying why, if the file is torn, altered, of another cluster or of another format
   */
  async *turns(): AsyncGenerator<readonly SoundLine[]> {
    let count = 0;
    let isEnded = false;
    for await (const turn of this.#reader.turns()) {
      let lines = turn;
      if (this.#meta === undefined) {
        this.#meta = this.#readHead(lines[0]!.value);
        lines = lines.slice(1);
      }
      if (isEnded) throw new Error("it goes on after its end");
      const last = lines.at(-1)?.value;
      if (last !== undefined && !Array.isArray(last)) {
        lines = lines.slice(0, -1);
        isEnded = true;
        if (End.parse(last).lines !== count + lines.length) throw new Error("lines are missing");
      }
      count += lines.length;
      yield lines;
    }
    if (!this.#reader.isWhole) throw new Error("its checksum does not fit");
    if (!isEnded) throw new Error("its end is missing");
  }

  #readHead(value: unknown): ClusterMeta {
    const { clusterId, meta } = Head.parse(value);
    if (clusterId !== this.#clusterId) throw new Error(`it is of cluster "${clusterId}"`);
    return meta;
  }
}
