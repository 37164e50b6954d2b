/** The limits of a run, and of a step of a run. */
export interface Limits {
  /** Maximum duration of a run, ms. The next run continues. */
  readonly runMs: number;
  /** Blocks of a partition (8 kB each) that one transaction counts. */
  readonly sliceBlocks: number;
  /** Blocks of a partition whose rows one file contains. */
  readonly fileBlocks: number;
  /**
   * Whether months are closed while `app_now()` is shifted, which happens in development and tests only. New ids have the time of the system, so a
   * shifted clock would close the month of new ids.
   */
  readonly closesWhenShifted: boolean;
}

/** A slice of 128 MB takes some seconds. The file of 256 MB of a table has about 40 MB. */
export const LIMITS: Limits = { runMs: 60_000, sliceBlocks: 16_384, fileBlocks: 32_768, closesWhenShifted: false };
