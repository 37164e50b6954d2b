/** The numbers of connections at which the benchmark `scores` measures. A peer is measured with the same numbers. */
export const SCORE_CONNECTIONS = [32, 128, 256] as const;
