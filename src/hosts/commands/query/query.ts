import { UsageError } from "../../../config/values.ts";
import { usableAddress } from "../../../dns/address.ts";
import { formatReverseName } from "../../../dns/reverse.ts";
import type { JsonExplanation } from "../../../http/explain.ts";
import { renderJsonAnswer } from "../../../http/json.ts";
import { JsonQuestionError, readJsonQuestion } from "../../../http/json-question.ts";
import { DNS_MESSAGE, JSON_TYPE } from "../../../http/messages/fields.ts";
import { readCheckInputs } from "../check/check-input.ts";
import type { PinFlags } from "../flags/pin-flags.ts";
import { type ConnectionFlags, connectTo } from "../gateway-connection.ts";
import { entriesOf } from "../offline-world.ts";
import type { Output } from "../process/output.ts";
import { answerOffline } from "./offline.ts";
import { answerLines, explanationLines } from "./query-lines.ts";
import type { QueryQuestion, QueryResult } from "./query-result.ts";
import { openStateFolder } from "./state-folder.ts";

/** Flags of `query`. */
export interface QueryFlags extends ConnectionFlags, PinFlags {
  readonly manifests?: readonly string[] | undefined;
  readonly stateDir?: string | undefined;
  readonly view?: string | undefined;
  readonly zone?: readonly string[] | undefined;
  /** `CLUSTER=*` or `CLUSTER=CLUSTER,…` each. */
  readonly speaksFor?: readonly string[] | undefined;
  readonly explain?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** 0: records, 1: SERVFAIL, REFUSED and other errors, or no records in manifests with problems, 3: no records. */
export type QueryExitCode = 0 | 1 | 3;

/**
 * Looks a name up and prints the answer.
 * @throws {UsageError} for wrong flags, a malformed question, and inputs that cannot be read
 * @throws {RequestFailed} if the gateway does not answer
 */
export async function query(
  name: string,
  type: string | undefined,
  flags: QueryFlags,
  output: Output,
): Promise<QueryExitCode> {
  const question = readQuestion(name, type);
  const result = await lookUp(question, flags);
  for (const problem of result.problems ?? []) output.err(`problem: ${problem}`);
  const { answer, explanation } = result;
  if (flags.json === true)
    output.out(JSON.stringify({ answer, ...(explanation && { explanation }) }, undefined, 2));
  else {
    for (const line of answerLines(result)) output.out(line);
    if (explanation !== undefined) for (const line of explanationLines(explanation)) output.out(line);
  }
  if (answer.Status !== 0 && answer.Status !== 3) return 1;
  if ((answer.Answer ?? []).length > 0) return 0;
  // What a broken manifest has is not known.
  return (result.problems ?? []).length > 0 ? 1 : 3;
}

async function lookUp(question: QueryQuestion, flags: QueryFlags): Promise<QueryResult> {
  const { server, manifests = [], stateDir, zone = [] } = flags;
  const sources = [server !== undefined, manifests.length > 0, stateDir !== undefined];
  if (sources.filter(Boolean).length !== 1)
    throw new UsageError("name one source: --server, --manifests or --state-dir");
  if (server !== undefined) {
    if (zone.length > 0)
      throw new UsageError("--zone is for --manifests and --state-dir: a gateway has its own zones");
    return askGateway(server, question, flags);
  }
  if (stateDir !== undefined) {
    const { entries, problems, close } = openStateFolder(stateDir);
    try {
      return { ...answerOffline(question, entries, flags), source: stateDir, problems };
    } finally {
      close();
    }
  }
  const inputs = await readCheckInputs(manifests, undefined, undefined);
  const entries = entriesOf(inputs.map(({ snapshot }) => snapshot));
  const problems = inputs.flatMap((input) => input.problems);
  return { ...answerOffline(question, entries, flags), source: manifests.join(", "), problems };
}

async function askGateway(
  server: string,
  { search, message }: QueryQuestion,
  flags: QueryFlags,
): Promise<QueryResult> {
  const connection = await connectTo(server, flags);
  const at = flags.view === undefined ? "" : `/clusters/${encodeURIComponent(flags.view)}`;
  try {
    const { body, milliseconds } = await connection.post(`${at}/dns-query`, DNS_MESSAGE, message);
    const answer = renderJsonAnswer(new Uint8Array(body), "");
    const explained =
      flags.explain === true ? await connection.get(`${at}/explain?${search}`, JSON_TYPE) : undefined;
    const explanation = explained && (JSON.parse(explained.body.toString("utf8")) as JsonExplanation);
    // In wire format an answer has its Extended DNS Errors only.
    const Comment = explanation?.comment ?? answer.Comment.replace(/; $/, "");
    return { answer: { ...answer, Comment }, explanation, source: `${connection.name}, ${milliseconds} ms` };
  } finally {
    await connection.close();
  }
}

function readQuestion(name: string, type: string | undefined): QueryQuestion {
  const bytes = usableAddress(name);
  const asked = bytes === undefined ? name : formatReverseName(bytes);
  const search = new URLSearchParams({
    name: asked,
    type: type ?? (bytes === undefined ? "A" : "PTR"),
  }).toString();
  try {
    return { search, message: readJsonQuestion(`?${search}`).query };
  } catch (error) {
    if (error instanceof JsonQuestionError) throw new UsageError(error.message.replace("the parameter ", ""));
    throw error;
  }
}
