import { readFile } from 'node:fs/promises';
import { SYSTEM_ORIGIN, startSystem } from '#dev/stack/system.ts';
import { type BotPlay, playAsBot } from '#games/block-cascade/bot.ts';
import { MODULE_PATH } from '#games/block-cascade/build.ts';
import { readInputLog } from '#lib/replay/input-log.ts';
import { runReplay } from '#lib/replay/run.ts';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { cpuPerRequest, cpuSeconds, reportCpu } from './support/cpu.ts';
import { load, request } from './support/load.ts';
import { report, reportLoad } from './support/report.ts';
import { openPlays, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures replays of Block Cascade: first in this process, with and without metering, then as scores over HTTP with one API process, one worker
 * process, PostgreSQL, Redis and this load on one machine.
 */

const GAME = 'block-cascade';
const LIMITS = { maxTicks: 10_800, instructionsPerTick: 20_000 };
const SEED = Uint8Array.from({ length: 16 }, (_, i) => i);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const REPLAYS = 1_000;
const WALLETS = 1_000;

const source = new Uint8Array(await readFile(MODULE_PATH));
const module = new WebAssembly.Module(meterSimulation(source));

/** Returns plays of nearly three minutes, or as long as the bot survives. */
function longPlays(count: number): BotPlay[] {
  return Array.from({ length: count }, () => playAsBot(module, SEED, { idleTicks: 400 }));
}

/** Returns replays per second on one core. */
function measure(play: (one: BotPlay) => void, plays: readonly BotPlay[]): number {
  const begin = performance.now();
  for (let i = 0; i < REPLAYS; i += 1) {
    const one = plays[i % plays.length];
    if (one) play(one);
  }
  return REPLAYS / ((performance.now() - begin) / 1_000);
}

const plays = longPlays(50);
const replay = ({ log }: BotPlay) => runReplay(module, SEED, readInputLog(log), LIMITS);
const plain = new WebAssembly.Module(source);
const withoutMetering = ({ log }: BotPlay) => {
  const game = new WebAssembly.Instance(plain).exports as { start(...seed: number[]): void; tick(input: number): number };
  game.start(0, 1, 2, 3);
  for (const { ticks, input } of readInputLog(log)) for (let i = 0; i < ticks; i += 1) game.tick(input);
};
for (const one of plays) {
  replay(one);
  withoutMetering(one);
}
report('ticks of a replay, mean', plays.reduce((sum, { ticks }) => sum + ticks, 0) / plays.length, 'ticks');
report('bytes of a log, mean', plays.reduce((sum, { log }) => sum + log.length, 0) / plays.length, 'bytes');
const unmetered = measure(withoutMetering, plays);
report('replays on one core', measure(replay, plays), '/s', { atLeast: 1_000 });
report('replays on one core against no metering', measure(replay, plays), '/s', { peer: 'without metering', value: unmetered });

const system = await startSystem({ durable: true, workers: 1, env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000' } });
try {
  const wallets = await signedInWallets(system, WALLETS);
  const port = Number(new URL(system.urls[0] ?? '').port);
  const open = await openPlays(system, wallets, GAME, Math.ceil(((SECONDS + 3) * 2_500) / WALLETS));
  await withDatabase(system, (db) =>
    // The plays began long enough ago for three minutes of ticks. Each wallet has several live plays, and no rule holds a score.
    db.query(
      `with lenient as (
         update games set definition = definition || '{"maxLivePlays": 1000, "review": {"perfectFrom": null, "repeatedScores": null, "overlapSec": null, "newcomerScores": null, "maxHeldPerWallet": 1000}}' where id = $1),
       moved as (update plays set started_at = now() - interval '5 minutes' where game_id = $1 returning id)
       insert into play_seeds (play_id, simulation, seed) select id, (select hash from simulations), $2 from moved`,
      [GAME, Buffer.from(SEED)],
    ),
  );
  let sent = 0;
  const next = () => {
    const play = open.pop();
    const played = plays[sent++ % plays.length];
    if (!play || !played) return null;
    const body = { gameId: GAME, playId: play.playId, score: played.score, replay: Buffer.from(played.log).toString('base64') };
    return request('POST', '/arcade/score', `localhost:${port}`, { Cookie: play.by.cookie, Origin: SYSTEM_ORIGIN }, body);
  };
  const before = cpuSeconds(system);
  const result = await load({ port, connections: 32, seconds: SECONDS, warmupSeconds: 3, next });
  reportLoad('scores with replays, 32 connections', result, { p99: 150 });
  reportCpu('scores with replays, 32 connections', cpuPerRequest(before, cpuSeconds(system), result.requests));
} finally {
  await system.stop();
}
