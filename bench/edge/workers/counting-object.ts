/**
 * The gateway's object with a count of what it is asked and of the rows that it writes, and a way to it for
 * other processes.
 */
import type { Environment } from "../../../src/hosts/workers/edge-gateway.ts";
// The bundle that wrangler would deploy; it is not bundled again.
import { ClustersetObject as Gateway } from "../../../src/hosts/workers/worker.ts";
import type { ObjectCounts } from "../counts.ts";
import { collectGarbage } from "./collect-garbage.ts";

const counts: ObjectCounts = { state: 0, parts: 0, pushes: 0, rowsWritten: 0, bytes: 0 };

export class ClustersetObject extends Gateway {
  constructor(state: DurableObjectState, environment: Environment) {
    countRows(state.storage);
    super(state, environment);
  }

  override async fetch(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const response = await super.fetch(request);
    if (path.includes("/transfer/")) counts.bytes += await lengthOf(response);
    if (path.endsWith("/transfer/state")) counts.state++;
    else if (path.includes("/transfer/")) counts.parts++;
    else counts.pushes++;
    return response;
  }
}

/** Large bodies have a declared length; others are read. */
async function lengthOf(response: Response): Promise<number> {
  const declared = response.headers.get("content-length");
  return declared === null ? (await response.clone().arrayBuffer()).byteLength : Number(declared);
}

function countRows({ sql }: DurableObjectStorage): void {
  const execute = sql.exec.bind(sql);
  sql.exec = ((query, ...values) => {
    const cursor = execute(query, ...values);
    counts.rowsWritten += cursor.rowsWritten;
    return cursor;
  }) as typeof sql.exec;
}

export default {
  async fetch(request, environment) {
    if (new URL(request.url).pathname === "/counts") return Response.json(counts);
    return collectGarbage(request) ?? environment.CLUSTERSET.getByName("clusterset").fetch(request);
  },
} satisfies ExportedHandler<Environment>;
