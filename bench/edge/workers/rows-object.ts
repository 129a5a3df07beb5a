/** An object that takes the lines of clusters as rows, as far as the database goes. */
import { DurableObject } from "cloudflare:workers";
import { overStorage } from "../../../src/database/driver.ts";
import { migrate } from "../../../src/database/schema.ts";
import { Stage } from "../../../src/database/stage.ts";
import { Writer } from "../../../src/database/writer.ts";
import { LinesReader } from "../../../src/snapshot/lines/lines-reader.ts";

interface Bindings {
  readonly ROWS: DurableObjectNamespace<RowsObject>;
}

export class RowsObject extends DurableObject<Bindings> {
  readonly #writer: Writer;

  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings);
    const database = overStorage(state.storage);
    migrate(database);
    this.#writer = new Writer(database, () => {});
  }

  /** Takes a push whose path is the id of its cluster; `GET` reads the rows of a key. */
  override async fetch(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname.slice(1);
    if (request.method === "GET") return Response.json(this.#writer.reader.rowsOf(path));
    const lines = new LinesReader();
    const stage = new Stage(this.#writer.reader, path, "whole");
    const body = request.body!.getReader();
    for (let piece = await body.read(); !piece.done; piece = await body.read())
      for (const line of lines.feed(piece.value)) stage.apply(line);
    lines.finish();
    const now = Date.now();
    const meta = { generation: now, pushedAt: now, renewedAt: now, expiresAt: now + 3_600_000 };
    const applied = this.#writer.apply(this.#writer.prepare(stage.finish(), meta, { now, live: false }));
    return Response.json(applied.position);
  }
}

export default {
  fetch: (request, { ROWS }) => ROWS.getByName("rows").fetch(request),
} satisfies ExportedHandler<Bindings>;
