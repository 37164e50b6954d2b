import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { closeEndedPeriods } from '#areas/points';
import { keepHistory } from '#areas/points/history/index.ts';
import { computeEpoch, sweepEpochs } from '#areas/rewards';
import { readConfig } from '#config';
import { JOB_TIMEOUTS, openContext } from '#context';
import { withoutKeys } from '#dev/stack/localnet.ts';
import { SYSTEM_ADMIN_TOKEN, SYSTEM_ORIGIN, startSystem } from '#dev/stack/system.ts';
import { fillArcadeHistory } from './support/arcade.ts';
import { cpuPerRequest, cpuSeconds, reportCpu, secondsOf } from './support/cpu.ts';
import { EPOCH_QUEUES, readEpoch } from './support/days.ts';
import {
  areMonthsClosed,
  bytesPerRow,
  completeGame,
  growHistory,
  growLedger,
  grownMonths,
  makePastPartitions,
  removeEpoch,
  reopenMonths,
} from './support/history.ts';
import { load, request } from './support/load.ts';
import { report } from './support/report.ts';
import { openGame, openPlays, SESSION_KEY, sessionsOf, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures how the costs of the service grow with years of data. The present and the two months before it have the same rows in each
 * size; the older months, which are closed, have as many rows as the size says. Each cost is compared with the cost at the smallest size.
 * `GROWTH_SIZES`: numbers of rows of each big table. `GROWTH_LEDGER`: further numbers of rows, of the ledger alone.
 */
const sizesOf = (list: string | undefined, fallback: number[]) => list?.split(',').map(Number) ?? fallback;
const SIZES = sizesOf(process.env.GROWTH_SIZES, [1_000_000, 10_000_000]);
const LEDGER_SIZES = sizesOf(process.env.GROWTH_LEDGER, []);
const WALLETS = Number(process.env.BENCH_WALLETS ?? 20_000);
/** A cost at a larger size may be at most this multiple of the cost at the smallest size. */
const FLAT = 1.5;
const GAME = 'bench-game';
const SCORES = Number(process.env.BENCH_SCORES ?? 20_000);
const READ_SECONDS = Number(process.env.BENCH_SECONDS ?? 5);
const SKIPPED = ['signatures', 'vaults', 'treasury', 'hand-payments', 'clip-media', 'boards', 'feed', 'finals', 'final-sums'];
/** Number of times that a day is closed, of which the median counts, because one close takes half a second and other work disturbs it. */
const CLOSES = 5;
/** Number of checks of the audit whose times are reported, the slowest first. */
const SLOWEST = 8;
/** Checks whose differences this benchmark causes: it inserts plays without counting them in the weeks of their wallets. */
const TOLERATED = new Set(['wallet-weeks']);
const READS = { 'page of the ledger': '/admin/wallets/{wallet}/ledger?limit=50', 'page of scores': '/me/scores?limit=50', profile: '/api/profile' };

const system = await startSystem({
  env: { ...EPOCH_QUEUES, SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000', HISTORY_MONTHS: '0' },
  // The benchmark vacuums all tables before the measurements. Otherwise PostgreSQL would vacuum filled tables during some measurement, by chance.
  postgresSettings: { autovacuum: 'off' },
});
const app = await openContext(readConfig(system.env), 'bench', { timeouts: { ...JOB_TIMEOUTS, sqlMs: 3_600_000 } });
const AuditOutput = z.object({
  ms: z.number(),
  checks: z.array(
    z.object({ name: z.string(), status: z.string(), ms: z.number(), differences: z.array(z.string()), failure: z.string().nullable() }),
  ),
});
/** The costs at the smallest size, each with the cost of the fixed work at that time. */
const firstCosts = new Map<string, { readonly value: number; readonly fixed: number }>();
let size = 0;

/**
 * Reports a cost, and compares it with the cost at the smallest size. The limit follows the speed of the machine, which others share: the two sizes are measured half an
 * hour apart.
 * @param fixed cost of the fixed work at the time of the measurement; 1 for a cost that does not depend on the speed of the machine
 */
function cost(what: string, value: number, unit: string, fixed = 1): void {
  const first = firstCosts.get(what);
  if (first === undefined) firstCosts.set(what, { value, fixed });
  report(`${what}, ${size / 1e6} M rows`, value, unit, first === undefined ? '' : { atMost: (first.value * FLAT * fixed) / first.fixed });
}

/** Returns the bytes that PostgreSQL has written to its write-ahead log. */
const walBytes = () =>
  withDatabase(system, async (db) => {
    const { rows } = await db.query<{ bytes: number }>(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`);
    return rows[0]?.bytes ?? 0;
  });

/** A statement that reads no table. Its cost shows how fast the machine is. */
const FIXED_WORK = { text: `select count(*) from generate_series(1, 700000) n where hashtextextended(n::text, 0) % 7 = 0` };

/** Returns the CPU seconds of PostgreSQL for some work. */
async function postgresqlCpu(work: () => Promise<unknown>): Promise<number> {
  const { postgresql: before = 0 } = cpuSeconds(system);
  await work();
  return (cpuSeconds(system).postgresql ?? 0) - before;
}

/** Returns the CPU seconds of PostgreSQL for some work, the duration of the work in ms, and the CPU seconds of the fixed work at that time. */
async function measured(work: () => Promise<unknown>): Promise<{ cpu: number; ms: number; fixed: number }> {
  const fixedWork = () => postgresqlCpu(() => app.db.query(FIXED_WORK));
  const before = await fixedWork();
  const begin = performance.now();
  const cpu = await postgresqlCpu(work);
  const ms = performance.now() - begin;
  return { cpu, ms, fixed: (before + (await fixedWork())) / 2 };
}

try {
  const [{ today } = { today: 0 }] = await app.db.query<{ today: number }>({ text: 'select app_day() as today' });
  await system.workers[0]?.stop();
  await withDatabase(system, async (db) => {
    await makePastPartitions(db, today);
    await fillArcadeHistory(db, WALLETS, console.log);
    // The benchmark adds rows to months of the last year, whose final ranks it does not compute.
    await db.query(`delete from closed_periods where period = 'year'`);
  });
  await openGame(system, GAME);
  const players = await signedInWallets(system, 2_000);
  const [reader] = await withDatabase(system, async (db) => {
    const { rows } = await db.query<{ wallet: string }>('select wallet from ledger where day >= $1 order by wallet limit 1', [today - 60]);
    return await sessionsOf(
      db,
      rows.map(({ wallet }) => wallet),
    );
  });
  if (!reader) throw new Error('no wallet has points');
  await system.workers[0]?.start();

  const port = Number(new URL(system.urls[0] ?? '').port);
  let rows = 0;
  for (const [n, next] of [...SIZES, ...LEDGER_SIZES].entries()) {
    size = next;
    await system.workers[0]?.stop();
    await withDatabase(system, async (db) => {
      await reopenMonths(db);
      const filled = await measured(() => (n < SIZES.length ? growHistory : growLedger)(db, today, rows, size));
      report(`rows made, ${size / 1e6} M rows`, filled.ms / 1_000, 's');
      // The sums of all wallets were updated at once, which doubles the size of their tables; the service updates them one by one in place.
      await db.query('vacuum full standings, players');
      await db.query('vacuum analyze');
    });
    rows = size;
    const closing = await measured(async () => {
      while (!(await withDatabase(system, (db) => areMonthsClosed(db, size)))) await keepHistory(app);
    });
    report(`closing of the old months, ${size / 1e6} M rows: CPU of PostgreSQL`, closing.cpu, 's');
    await withDatabase(system, async (db) => {
      await db.query('vacuum analyze');
      await db.query('checkpoint');
    });
    await system.workers[0]?.start();

    // Scores.
    const plays = await openPlays(system, players, GAME, Math.ceil((2 * SCORES) / players.length));
    const sendScores = (count: number) => {
      let left = count;
      const score = () => {
        const play = left-- > 0 ? plays.pop() : undefined;
        if (!play) return null;
        return request(
          'POST',
          '/arcade/score',
          `localhost:${port}`,
          { Cookie: play.by.cookie, Origin: SYSTEM_ORIGIN },
          { gameId: GAME, score: randomInt(1e6), playId: play.playId, durationMs: 50_000 },
        );
      };
      return load({ port, connections: 64, seconds: 600, warmupSeconds: 0, next: score });
    };
    await sendScores(SCORES / 2);
    let p50 = 0;
    const walBefore = await walBytes();
    const scores = await measured(async () => {
      const before = cpuSeconds(system);
      p50 = (await sendScores(SCORES)).p50;
      if (n === 0) reportCpu('score, all parts', cpuPerRequest(before, cpuSeconds(system), SCORES));
    });
    cost('score: CPU of PostgreSQL', (1e6 * scores.cpu) / SCORES, 'µs', scores.fixed);
    cost('score: p50', p50, 'ms', scores.fixed);
    cost('score: write-ahead log', ((await walBytes()) - walBefore) / SCORES, 'bytes');
    // Pages and profiles.
    const headersOf = (path: string): Record<string, string> =>
      path.startsWith('/admin') ? { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` } : { Cookie: reader.cookie };
    for (const [name, path] of Object.entries(READS)) {
      let requests = 1;
      const read = await measured(async () => {
        requests = (
          await load({
            port,
            connections: 2,
            seconds: READ_SECONDS,
            warmupSeconds: 0,
            next: () => request('GET', path.replace('{wallet}', reader.wallet), `localhost:${port}`, headersOf(path)),
          })
        ).requests;
      });
      cost(`${name}: CPU of PostgreSQL`, (1e6 * read.cpu) / requests, 'µs', read.fixed);
    }
    // The close of yesterday, and an epoch.
    const closes: { cpu: number; fixed: number }[] = [];
    for (let i = 0; i < CLOSES; i++) {
      await withDatabase(system, async (db) => {
        for (const table of ['finals', 'final_sums', 'closed_periods'])
          await db.query(`delete from ${table} where period = 'day' and bucket = $1`, [today - 1]);
      });
      closes.push(await measured(() => closeEndedPeriods(app)));
    }
    const close = closes.sort((x, y) => x.cpu / x.fixed - y.cpu / y.fixed)[Math.floor(CLOSES / 2)];
    cost('close of a day: CPU of PostgreSQL', close?.cpu ?? Number.NaN, 's', close?.fixed);
    await system.workers[0]?.stop();
    await withDatabase(system, (db) => removeEpoch(db, today - 1));
    // One run creates some of the epochs that are due, the oldest first.
    while ((await readEpoch(system, today - 1)) === null) await sweepEpochs(app);
    const epoch = await measured(() => computeEpoch(app, today - 1));
    cost('epoch: CPU of PostgreSQL', epoch.cpu, 's', epoch.fixed);
    await system.workers[0]?.start();
    const redis = new Redis(system.redis.url);
    if (n === 0) report('Redis: memory per wallet', Number(/used_memory_dataset:(\d+)/.exec(await redis.info('memory'))?.[1]) / WALLETS, 'bytes');
    redis.disconnect();
    // The audit.
    await withDatabase(system, (db) => completeGame(db, GAME));
    const audit = await measured(runAudit);
    cost('audit: CPU of PostgreSQL', audit.cpu, 's', audit.fixed);
    report(`fixed work: CPU of PostgreSQL, ${size / 1e6} M rows`, audit.fixed, 's');
    if (n >= SIZES.length - 1) {
      const month = grownMonths(today).at(-1) ?? 0;
      for (const [relation, bytes] of await withDatabase(system, (db) => bytesPerRow(db, month)))
        report(`${relation}, ${size / 1e6} M rows: bytes per row, with indexes`, bytes, 'bytes');
    }
  }
  report('CPU of this process', secondsOf(process.pid), 's');
} finally {
  await app.close();
  await system.stop();
}

/** Runs bin/audit. @throws when a check differs */
async function runAudit(): Promise<void> {
  const args = [join(import.meta.dirname, '../audit/main.ts'), '--json', '--timeout', '3600', '--skip', SKIPPED.join(',')];
  const child = spawn(process.execPath, args, { env: { ...withoutKeys(system.env), NODE_ENV: 'audit' }, stdio: ['ignore', 'pipe', 'inherit'] });
  const { checks } = AuditOutput.parse(JSON.parse(await text(child.stdout)));
  for (const { name, ms } of checks.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST))
    report(`audit: check ${name}, ${size / 1e6} M rows`, ms / 1_000, 's');
  for (const { name, status, failure, differences } of checks) {
    if (status !== 'fine' && !TOLERATED.has(name)) throw new Error(`${name} ${status}: ${failure ?? differences.join('\n')}`);
  }
}
