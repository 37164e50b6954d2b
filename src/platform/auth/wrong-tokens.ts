import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { countWrongToken } from '#platform/observability/metrics/refusal-metrics.ts';

/** Delay per recent wrong token, and the maximum delay, ms. */
const DELAY_MS = 20;
const MAX_DELAY_MS = 1_000;
/** Time after which one recent wrong token is forgotten, ms. */
const FORGET_MS = 1_000;
/** Maximum number of recent wrong tokens, so that an attack is forgotten within a minute. */
const MAX_RECENT = 60;
/** Maximum number of responses that are delayed at the same time. */
const MAX_DELAYED = 2_000;

/** Thrown for a request with an admin or internal token that is not configured or has expired. */
export class WrongToken extends HttpError {}

/** The wrong tokens of one process. */
class WrongTokens {
  #recent = 0;
  #countedAt = performance.now();
  #delayed = 0;

  /** Counts a wrong token. @returns the delay of its response, ms */
  #count(): number {
    const now = performance.now();
    this.#recent = Math.min(MAX_RECENT, Math.max(0, this.#recent - (now - this.#countedAt) / FORGET_MS) + 1);
    this.#countedAt = now;
    return Math.min(MAX_DELAY_MS, DELAY_MS * Math.floor(this.#recent));
  }

  /** Counts a wrong token, and waits before its response. */
  async delay(): Promise<void> {
    const ms = this.#count();
    if (this.#delayed >= MAX_DELAYED) return;
    this.#delayed++;
    await sleep(ms);
    this.#delayed--;
  }
}

const wrongTokens = perApp(() => new WrongTokens());

/**
 * Waits before the response to a wrong token. The more wrong tokens this process received in the last minute, the longer it waits, up to a second, so
 * that guessing is slow. Requests with the right token never wait, so nobody can lock an operator out.
 */
export async function delayWrongToken(app: App): Promise<void> {
  countWrongToken();
  await app.state(wrongTokens).delay();
}
