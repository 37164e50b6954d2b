import { TURNS } from '../comparison/turns.ts';

/** The numbers of connections at which the benchmark `scores` measures. A peer is measured with the same numbers. */
export const SCORE_CONNECTIONS = [32, 128, 256] as const;
/** Duration of each measurement of scores, seconds. In a comparison, each measurement is repeated in several short turns. */
export const SECONDS = Number(process.env.BENCH_SECONDS ?? (TURNS > 1 ? 5 : 10));
/** Duration of the load before each measurement, seconds. */
export const WARMUP_SECONDS = TURNS > 1 ? 1 : 3;
