/** The time of a process. SQL has its own, `app_now()`; tests move both together. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
