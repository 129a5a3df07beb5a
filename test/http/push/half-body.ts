/** A body that is sent part by part. */
export interface HalfBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Sends text; resolves when the gateway has taken it and waits for more, or wants no more. */
  send(text: string): Promise<void>;
  end(): void;
}

/** A body whose sender stops until the test goes on. */
export function halfBody(): HalfBody {
  let wanted = Promise.withResolvers<void>();
  let next = Promise.withResolvers<string | undefined>();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        wanted.resolve();
        const text = await next.promise;
        next = Promise.withResolvers();
        if (text === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(text));
      },
      cancel: () => wanted.resolve(),
    },
    { highWaterMark: 0 },
  );
  return {
    stream,
    async send(text) {
      await wanted.promise;
      wanted = Promise.withResolvers();
      next.resolve(text);
      await wanted.promise;
    },
    end: () => next.resolve(undefined),
  };
}
