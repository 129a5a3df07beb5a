import type { Clock } from "../../gateway/clock.ts";
import { ApiError } from "../messages/api-error.ts";
import type { BodyLimits } from "./push-limits.ts";

const SECOND = 1000;

/**
 * Gives up on a body whose sender is too slow. It counts seconds one by one, each with a timer of its own: a process that was busy for
 * a while counts one second and reads what has arrived meanwhile, before it blames the sender.
 */
export class SlowBody {
  readonly #limits: Pick<BodyLimits, "pushIdleSeconds" | "pushSeconds">;
  readonly #setTimer: Clock["setTimer"];
  readonly #giveUp: (error: ApiError) => void;
  #silent = 0;
  #seconds = 0;
  #cancel: () => void;

  /** @param giveUp called at most once */
  constructor(
    limits: Pick<BodyLimits, "pushIdleSeconds" | "pushSeconds">,
    setTimer: Clock["setTimer"],
    giveUp: (error: ApiError) => void,
  ) {
    this.#limits = limits;
    this.#setTimer = setTimer;
    this.#giveUp = giveUp;
    this.#cancel = setTimer(SECOND, () => this.#tick());
  }

  /** Some bytes arrived. */
  arrived(): void {
    this.#silent = 0;
  }

  /** The body has arrived, or nobody wants it any more. */
  end(): void {
    this.#cancel();
  }

  #tick(): void {
    const { pushIdleSeconds, pushSeconds } = this.#limits;
    this.#silent++;
    this.#seconds++;
    if (this.#silent >= pushIdleSeconds)
      this.#giveUp(tooSlow(`no byte of the body arrived for ${pushIdleSeconds} s`, "limits.pushIdleSeconds"));
    else if (this.#seconds >= pushSeconds)
      this.#giveUp(tooSlow(`the body took more than ${pushSeconds} s`, "limits.pushSeconds"));
    else this.#cancel = this.#setTimer(SECOND, () => this.#tick());
  }
}

/** RFC 9110 section 15.5.9. */
function tooSlow(message: string, limit: "limits.pushIdleSeconds" | "limits.pushSeconds"): ApiError {
  return new ApiError(408, "BODY_TOO_SLOW", message, { limit });
}
