/** Ends something that was started. */
export type Stop = () => unknown;

/** Runs `use`, then ends what it has put on the list, the newest first, also where it fails. */
export async function withStops<Result>(use: (stops: Stop[]) => Promise<Result>): Promise<Result> {
  const stops: Stop[] = [];
  try {
    return await use(stops);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}
