/** Costs of one unit on one core of the machine of docs/benchmarks.md. `bin/bench growth` and `bin/bench scores` measure them. */
export const UNIT_COSTS = {
  /** Bytes of one row with its indexes, in a closed month. */
  bytesPerRow: { ledger: 466, plays: 299, score_plays: 98, scores: 438 },
  /** Bytes of one row in an exported file. */
  fileBytesPerRow: { ledger: 61, plays: 59, score_plays: 32, scores: 135 },
  /**
   * Bytes of one row with its indexes in the tables that are never detached. `leaf`: a reward with its hash in the stored tree. `claim`: a claim with its
   * transaction and one attempt, whose signed bytes are deleted.
   */
  keptBytesPerRow: { final: 262, leaf: 275, claim: 2_030 },
  /** Bytes of the write-ahead log per score, with its play, batch of activities and sums. */
  walPerScore: 3_300,
  /** CPU time per score, µs. */
  cpuPerScore: { api: 230, worker: 310, postgresql: 390, redis: 130 },
  /** CPU time per read request, µs: between a board, which Redis answers, and a profile, which needs 600 µs of PostgreSQL. */
  cpuPerRead: { api: 300, postgresql: 300 },
  /** Bytes of memory in Redis per wallet that is on the boards. */
  redisPerWallet: 4_900,
} as const;

/** What a wallet does on a day. */
const DAY = { scores: 10, reads: 60, otherLedgerRows: 3, finals: 5, leaves: 1, claims: 0.5 } as const;
/** The busiest hour has this part of the requests of a day. */
const PEAK_HOUR = 0.1;
/** Cores are used up to this part at the peak. */
const UTILIZATION = 0.6;
/** Wallets of a month per daily wallet, all of which are on the boards. */
const MONTHLY_PER_DAILY = 4;
/** Part of the tables and indexes of the present month that PostgreSQL should hold in memory: the indexes by wallet are written at random places. */
const HOT = 0.1;
const MONTHS = 14;
/** Prices of a large cloud provider, US dollars per month, on demand. */
const PRICES = { core: 30, memoryGb: 4, diskGb: 0.1, thousandIops: 6, fileGb: 0.023 } as const;

const GB = 1e9;
const number = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 2 });

/** Computes the needs of a number of daily wallets. */
export function needsOf(dailyWallets: number) {
  const { bytesPerRow, keptBytesPerRow, walPerScore, cpuPerScore, cpuPerRead, redisPerWallet, fileBytesPerRow } = UNIT_COSTS;
  const scores = dailyWallets * DAY.scores;
  const reads = dailyWallets * DAY.reads;
  const rows = {
    ledger: scores + dailyWallets * DAY.otherLedgerRows,
    plays: scores,
    score_plays: scores,
    scores,
  };
  const bytesOf = (costs: Readonly<Record<keyof typeof rows, number>>) =>
    Object.entries(rows).reduce((sum, [table, n]) => sum + n * costs[table as keyof typeof rows], 0);
  const perDay = bytesOf(bytesPerRow);
  const keptPerDay = dailyWallets * (DAY.finals * keptBytesPerRow.final + DAY.leaves * keptBytesPerRow.leaf + DAY.claims * keptBytesPerRow.claim);
  const rowsPerDay = Object.values(rows).reduce((sum, n) => sum + n, 0);
  const [peakScores, peakReads] = [scores, reads].map((n) => (n * PEAK_HOUR) / 3_600) as [number, number];
  const cores = (scoreMicros: number, readMicros: number) => (peakScores * scoreMicros + peakReads * readMicros) / 1e6 / UTILIZATION;
  const needs = {
    rowsPerDay,
    tableGb: (perDay * 30 * MONTHS) / GB,
    keptGbPerYear: (365 * keptPerDay) / GB,
    walGbPerDay: (scores * walPerScore) / GB,
    peakScores,
    peakReads,
    apiCores: cores(cpuPerScore.api, cpuPerRead.api),
    workerCores: cores(cpuPerScore.worker, 0),
    postgresqlCores: cores(cpuPerScore.postgresql, cpuPerRead.postgresql),
    redisCores: cores(cpuPerScore.redis, 0),
    postgresqlGb: (perDay * 30 * HOT) / GB,
    redisGb: (dailyWallets * MONTHLY_PER_DAILY * redisPerWallet) / GB,
    // One commit of a batch of about 20 scores needs one flush of the log; each 8 kB of the log and of the tables is written once.
    iops: peakScores / 20 + (peakScores * (walPerScore + perDay / scores)) / 8_192,
    filesGbPerYear: (365 * bytesOf(fileBytesPerRow)) / GB,
  };
  const { apiCores, workerCores, postgresqlCores, redisCores, postgresqlGb, redisGb, tableGb, keptGbPerYear, iops, filesGbPerYear } = needs;
  // PostgreSQL and Redis run twice, on a primary and a standby. Processes need 2 GB of memory per core.
  const allCores = apiCores + workerCores + 2 * (postgresqlCores + redisCores);
  const memoryGb = 2 * (apiCores + workerCores) + 2 * (postgresqlGb + redisGb);
  const dollars =
    allCores * PRICES.core +
    memoryGb * PRICES.memoryGb +
    2 * (tableGb + keptGbPerYear) * PRICES.diskGb +
    (2 * iops * PRICES.thousandIops) / 1_000 +
    filesGbPerYear * PRICES.fileGb;
  return { ...needs, dollars };
}

const ROWS: readonly (readonly [name: string, key: keyof ReturnType<typeof needsOf>, unit: string])[] = [
  ['new rows of the four big tables per day', 'rowsPerDay', ''],
  [`tables and indexes of ${MONTHS} months`, 'tableGb', ' GB'],
  ['ranks and rewards, kept for ever: more each year', 'keptGbPerYear', ' GB'],
  ['write-ahead log per day', 'walGbPerDay', ' GB'],
  ['scores per second in the busiest hour', 'peakScores', ''],
  ['reads per second in the busiest hour', 'peakReads', ''],
  ['cores of API processes', 'apiCores', ''],
  ['cores of workers', 'workerCores', ''],
  ['cores of PostgreSQL (primary)', 'postgresqlCores', ''],
  ['cores of Redis (master)', 'redisCores', ''],
  ['memory of PostgreSQL (primary)', 'postgresqlGb', ' GB'],
  ['memory of Redis (master)', 'redisGb', ' GB'],
  ['disk operations per second', 'iops', ''],
  ['exported files per year', 'filesGbPerYear', ' GB'],
  ['US dollars per month', 'dollars', ''],
];

/** Returns the table of docs/scale.md: the needs of several numbers of daily wallets, as Markdown. */
export function scaleTable(): string {
  const sizes = [10_000, 100_000, 1_000_000, 10_000_000];
  const needs = sizes.map(needsOf);
  const cells = [
    ['daily wallets', ...sizes.map((n) => n.toLocaleString('en'))],
    ...ROWS.map(([name, key, unit]) => [name, ...needs.map((one) => `${number(one[key])}${unit}`)]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(cells[0] ?? []), rule, ...cells.slice(1).map(line)].join('\n');
}

/** The lines of docs/scale.md between which the table stands. */
const MARKS = ['<!-- table: node tools/docs/main.ts -->', '<!-- end of the table -->'] as const;

/** Returns docs/scale.md with the computed table. @param page the present text of the page */
export function withScaleTable(page: string): string {
  const [before, rest = ''] = page.split(MARKS[0]);
  return `${before}${MARKS[0]}\n\n${scaleTable()}\n\n${MARKS[1]}${rest.split(MARKS[1])[1] ?? ''}`;
}
