import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ORIGIN, startSystem } from '#dev/stack/system.ts';
import { inTurns, TURNS } from './comparison/turns.ts';
import { cpuPerRequest, cpuSeconds, idleShare, machineTicks, pauseSystem, reportCpu } from './support/cpu.ts';
import { type LoadResult, load, percentiles, request } from './support/load.ts';
import { report, reportLoad } from './support/report.ts';
import { SCORE_CONNECTIONS, SECONDS, WARMUP_SECONDS } from './support/score-loads.ts';
import { type BenchWallet, newSessions, openGame, openPlays, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures scores over HTTP with all features: session, origin check, validation job, consumed play, caps, durable PostgreSQL commit,
 * boards, rank in the response, event. It measures scores of plays that were inserted before, then pairs of a play and its score, then scores of many
 * wallets that each were last used a minute ago, then the idle system. One API process, one worker process, PostgreSQL, Redis and this load share one
 * machine.
 */

/** Limits by number of connections. */
const TARGETS: Readonly<Record<number, { perSec: number; p99: number }>> = { 32: { perSec: 2_000, p99: 60 }, 128: { perSec: 4_000, p99: 120 } };
const PAIRS = { connections: 128, perSec: 2_000 };
/** Wallets that send all requests, except those of the measurement with many wallets. */
const WALLETS = 5_000;
/** Wallets that each send one score, more than a minute after their last score. */
const MANY = { wallets: Number(process.env.BENCH_WALLETS ?? 50_000), connections: 128, unusedMs: 61_000, bestOf: 20, ofCached: 0.9 };
/** Scores per second for which the loads have plays and wallets. A load that runs out of them ends early. */
const MAX_PER_SEC = 8_000;
/** Duration of each load of the many wallets, seconds. */
const MANY_SECONDS = Math.min(SECONDS, MANY.wallets / TURNS / MAX_PER_SEC);
/**
 * Maximum CPU time of an API or worker process while no requests arrive, ms per second: the median of several intervals. Many jobs start every 15 or 30 s, so a shorter
 * interval would contain them once or twice. About 100 s after a load, and again 100 s later, V8 starts a full garbage collection, which takes up to 400 ms of CPU
 * time once: few intervals contain it. Before, the system settles for `settleSeconds`, because jobs follow a load.
 */
const IDLE = { maxMs: 15, seconds: 30, intervals: 5, settleSeconds: 30 };
const GAME = 'bench-game';

const system = await startSystem({
  durable: true,
  workers: Number(process.env.BENCH_WORKERS ?? 1),
  env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' },
  // PostgreSQL would vacuum the tables once per minute, for some seconds: during some measurement, by chance.
  postgresSettings: { autovacuum: 'off' },
});
const port = Number(new URL(system.urls[0] ?? '').port);
const host = `localhost:${port}`;
const headersOf = (by: BenchWallet) => ({ Cookie: by.cookie, Origin: SYSTEM_ORIGIN });

const scoreRequest = (by: BenchWallet, playId: string, { durationMs, bestOf = 1 }: { durationMs?: number; bestOf?: number | undefined } = {}) => {
  const score = Math.max(...Array.from({ length: bestOf }, () => randomInt(1_000_000)));
  return request('POST', '/arcade/score', host, headersOf(by), { gameId: GAME, score, playId, durationMs });
};

const playRequest = (by: BenchWallet) => request('POST', `/game/${GAME}/play`, host, headersOf(by));

/** Returns the number of plays per wallet that a load of this duration needs. */
const playsFor = (seconds: number): number => Math.ceil((seconds * MAX_PER_SEC) / WALLETS);

interface ScoreLoad {
  readonly connections: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  /** Name of the load in the output; by default, it names the number of connections. */
  readonly what?: string;
  /** Each score is the best of this many random scores; by default 1. */
  readonly bestOf?: number;
}

/** CPU time of PostgreSQL in `vacuum` since the first call, and the requests between the first and the latest call. */
const vacuumed = { seconds: 0, requests: 0 };
let requestsSinceVacuum: number | null = null;

/** Vacuums and analyzes all tables, as autovacuum does. The first call also processes the rows of the preparation, so its cost is not counted. */
async function vacuum(): Promise<void> {
  await withDatabase(system, async (db) => {
    const before = cpuSeconds(system);
    await db.query('vacuum (analyze)');
    if (requestsSinceVacuum !== null) {
      vacuumed.seconds += (cpuSeconds(system).postgresql ?? Number.NaN) - (before.postgresql ?? 0);
      vacuumed.requests += requestsSinceVacuum;
    }
    requestsSinceVacuum = 0;
  });
}

/** Sends scores of inserted plays. @param each plays per wallet */
async function loadScores(
  by: readonly BenchWallet[],
  each: number,
  { connections, seconds, warmupSeconds, bestOf, what = `scores, ${connections} connections` }: ScoreLoad,
): Promise<LoadResult> {
  const plays = await openPlays(system, by, GAME, each);
  const next = () => {
    const play = plays.pop();
    return play ? scoreRequest(play.by, play.playId, { durationMs: 50_000, bestOf }) : null;
  };
  return await measured(what, () => load({ port, connections, seconds, warmupSeconds, next }));
}

/**
 * Measures the rate of wallets that were not used for more than a minute, and the rate of wallets whose data is cached directly before, so that both meet
 * the same speed of the machine.
 * @param wallets the wallets that were not used
 * @param cached the wallets whose data is cached
 */
async function measureMany(wallets: readonly BenchWallet[], cached: readonly BenchWallet[]): Promise<void> {
  const common = { connections: MANY.connections, seconds: MANY_SECONDS, warmupSeconds: 1 };
  const name = (by: string) => `scores, ${MANY.connections} connections, ${by}`;
  const [few, many] = [name(`${cached.length} cached wallets`), name(`${MANY.wallets} wallets`)];
  const before = await loadScores(await signInAgain(cached), playsFor(MANY_SECONDS + 1), { ...common, what: few });
  reportLoad(few, before);
  const after = await loadScores(wallets, 1, { ...common, what: many });
  reportLoad(many, after);
  report('rate of many wallets, of the rate of cached wallets', after.perSec / before.perSec, '', { atLeast: MANY.ofCached });
}

/** Sends pairs: a request for a play, then its score. `perSec` of the result counts all requests. */
async function loadPairs(by: readonly BenchWallet[]): Promise<LoadResult> {
  const started: Buffer[] = [];
  const players = new Map<Buffer, BenchWallet>();
  let sent = 0;
  const next = () => {
    const score = started.pop();
    if (score) return score;
    const wallet = by[sent++ % by.length];
    if (!wallet) return null;
    const play = playRequest(wallet);
    players.set(play, wallet);
    return play;
  };
  const onResponse = (of: Buffer, { status, body }: { status: string; body: Buffer }) => {
    const wallet = players.get(of);
    players.delete(of);
    if (wallet && status === '201') started.push(scoreRequest(wallet, JSON.parse(body.toString()).playId));
  };
  return await measured('play and its score, each request', () =>
    load({ port, connections: PAIRS.connections, seconds: SECONDS, warmupSeconds: WARMUP_SECONDS, next, onResponse }),
  );
}

/** Runs a load, and reports the CPU time per request of each part of the system, and the idle share of the machine. */
async function measured(what: string, run: () => Promise<LoadResult>): Promise<LoadResult> {
  const [cpu, machine] = [cpuSeconds(system), machineTicks()];
  const result = await run();
  if (requestsSinceVacuum !== null) requestsSinceVacuum += result.requests;
  if (!isWarmUp) reportCpu(what, cpuPerRequest(cpu, cpuSeconds(system), result.requests), undefined, idleShare(machine, machineTicks()));
  return result;
}

async function reportIdle(): Promise<void> {
  await sleep(IDLE.settleSeconds * 1_000);
  const read = [cpuSeconds(system)];
  for (let i = 0; i < IDLE.intervals; i++) {
    await sleep(IDLE.seconds * 1_000);
    read.push(cpuSeconds(system));
  }
  for (const part of ['api', 'worker', 'postgresql', 'redis']) {
    const intervals = read.slice(1).map((cpu, i) => (1_000 * ((cpu[part] ?? Number.NaN) - (read[i]?.[part] ?? 0))) / IDLE.seconds);
    report(
      `idle system: CPU of ${part} per second`,
      percentiles(intervals).p50,
      'ms',
      part === 'api' || part === 'worker' ? { atMost: IDLE.maxMs } : '',
    );
  }
}

/** Sends one request of each wallet. */
async function sendOneOfEach(wallets: readonly BenchWallet[], requestOf: (by: BenchWallet) => Buffer): Promise<void> {
  const unsent = [...wallets];
  const next = () => {
    const wallet = unsent.pop();
    return wallet ? requestOf(wallet) : null;
  };
  await load({ port, connections: 64, seconds: 120, next });
}

/** Signs the wallets in again, so that no session is so old that a request extends it, and makes the API process load the sessions into its cache. */
async function signInAgain(wallets: readonly BenchWallet[]): Promise<BenchWallet[]> {
  const fresh = await newSessions(
    system,
    wallets.map(({ wallet }) => wallet),
  );
  await sendOneOfEach(fresh, (by) => request('GET', '/me', host, { Cookie: by.cookie }));
  return fresh;
}

const pause = () => pauseSystem(system);
let isWarmUp = true;
try {
  await openGame(system, GAME);
  const wallets = await signedInWallets(system, WALLETS);
  const many = await signedInWallets(system, MANY.wallets);
  // The first score of a wallet inserts more rows than the next ones, so it is not measured. It is as good as the best of the scores that each other wallet has sent
  // before the measurement of the many wallets, so that both improve their best scores as seldom: an improved score also updates a standing and five sorted sets.
  await loadScores(many, 1, { connections: MANY.connections, seconds: 120, warmupSeconds: 0, bestOf: MANY.bestOf });
  const usedAt = performance.now();
  const each = playsFor(SECONDS + WARMUP_SECONDS);
  // Sends load before the measurements, so that Node compiles the code.
  await loadScores(await signInAgain(wallets), each, { connections: 64, seconds: 5, warmupSeconds: 2 });
  // Without statistics of the new rows, PostgreSQL would read all scores for the first play of each wallet, and the warm-up would start few plays.
  await vacuum();
  await loadPairs(await signInAgain(wallets));
  isWarmUp = false;
  for (const connections of SCORE_CONNECTIONS) {
    await vacuum();
    await inTurns(async () => {
      const result = await loadScores(await signInAgain(wallets), each, { connections, seconds: SECONDS, warmupSeconds: WARMUP_SECONDS });
      reportLoad(`scores, ${connections} connections`, result, TARGETS[connections]);
    }, pause);
  }
  // An inserted play does not store how many plays of its wallet have no score, so PostgreSQL counts them for the next play of the wallet.
  await sendOneOfEach(await signInAgain(wallets), playRequest);
  await vacuum();
  await inTurns(async () => {
    const pairs = await loadPairs(await signInAgain(wallets));
    reportLoad(`play and its score, ${PAIRS.connections} connections`, { ...pairs, perSec: Math.round(pairs.perSec / 2) }, PAIRS);
  }, pause);
  await sleep(Math.max(0, usedAt + MANY.unusedMs - performance.now()));
  await vacuum();
  report('vacuum of the tables: CPU per request, not part of the other figures', (1e6 * vacuumed.seconds) / vacuumed.requests, 'µs');
  const share = Math.floor(many.length / TURNS);
  await inTurns(() => measureMany(many.splice(0, share), wallets), pause);
  await inTurns(reportIdle, pause, 1);
} finally {
  await system.stop();
}
