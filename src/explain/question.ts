/** A question with its answer. */
export interface AnsweredQuestion {
  /** In master-file form. */
  readonly name: string;
  readonly type: number;
  /** A cluster id or the view of a locality; undefined for outside. */
  readonly view: string | undefined;
  /** Whether another name server answered. */
  readonly isForwarded: boolean;
  /** The response code. */
  readonly status: number;
  /** Those of the answer section. */
  readonly records: readonly { readonly name: string; readonly type: number; readonly data: string }[];
}
