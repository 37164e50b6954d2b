/** The clock of a process. SQL statements use `app_now()` instead of this clock; tests shift both clocks together. */
export interface Clock {
  now(): Date;
}

/** Returns a clock that differs from the system time by a fixed number of milliseconds. */
export const systemClock = (offsetMs = 0): Clock => ({ now: () => new Date(Date.now() + offsetMs) });
