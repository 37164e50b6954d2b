import { createHash, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { invalidateGames, purgeReplays } from '#areas/arcade';
import { ReplayView, SimulationReceipt } from '#areas/arcade/replays/schemas.ts';
import { PlayReceipt } from '#areas/arcade/schemas.ts';
import { playAsBot } from '#games/block-cascade/bot.ts';
import { readInputLog, writeInputLog } from '#lib/replay/input-log.ts';
import { EMPTY_BLOCK, OP } from '#lib/replay/instructions.ts';
import { runReplay } from '#lib/replay/run.ts';
import { statement } from '#platform/db/sql.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { expectConsistent, registerGame, requestAsAdmin, submitScore, TEST_GAME } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';
import { buildModule, code } from '#test/support/wasm.ts';

const GAME = 'block-cascade';
const RUN_LIMITS = { maxTicks: 10_800, instructionsPerTick: 20_000 };
const LIMITS = `ticksPerSecond=60&maxTicks=${RUN_LIMITS.maxTicks}&instructionsPerTick=${RUN_LIMITS.instructionsPerTick}`;
let t: TestApp;
let module: WebAssembly.Module;
beforeAll(async () => {
  t = await startTestApp();
});
afterAll(() => t.close());

async function startPlay(player: SignedIn, game = GAME) {
  const response = await player.fetch(`/game/${game}/play`, { method: 'POST' });
  expect(response.status).toBe(201);
  const receipt = await jsonOf(response, PlayReceipt);
  if (receipt.seed === null || receipt.simulation === null) throw new Error('the play has no seed');
  return { playId: receipt.playId, seed: Buffer.from(receipt.seed, 'hex'), simulation: receipt.simulation };
}

/** Starts a play and plays it with the downloaded module. Returns the body of its score. */
async function playGame(player: SignedIn) {
  const { playId, seed, simulation } = await startPlay(player);
  module ??= new WebAssembly.Module(new Uint8Array(await (await send(t, simulation.path)).arrayBuffer()));
  const played = playAsBot(module, seed);
  return { gameId: GAME, playId, score: played.score, replay: Buffer.from(played.log).toString('base64'), seed, played };
}

function resultOf(seed: Buffer, log: Uint8Array) {
  const verdict = runReplay(module, seed, readInputLog(log), RUN_LIMITS);
  return 'result' in verdict ? verdict.result : null;
}

const bodyOf = ({ gameId, playId, score, replay }: Awaited<ReturnType<typeof playGame>>) => ({ gameId, playId, score, replay });
const upload = (body: Uint8Array<ArrayBuffer>, query = LIMITS, game = GAME) =>
  send(t, `/admin/games/${game}/simulation?${query}`, {
    method: 'PUT',
    body,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/wasm' },
  });
const waitForPlay = () => t.clock.set(new Date(t.clock.now().getTime() + 200_000));

describe('a game with verification by replay', () => {
  test('gives each play a new seed and the module, whose bytes have the named hash', async () => {
    const player = await signIn(t);
    const [first, second] = [await startPlay(player), await startPlay(player)];
    expect(first.seed).toHaveLength(16);
    expect(first.seed.equals(second.seed)).toBe(false);
    const response = await send(t, first.simulation.path);
    expect(response.headers.get('content-type')).toBe('application/wasm');
    expect(response.headers.get('cache-control')).toContain('immutable');
    expect(hash('sha256', new Uint8Array(await response.arrayBuffer()))).toBe(first.simulation.hash);
    const again = await send(t, first.simulation.path, { headers: { 'If-None-Match': response.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });

  test('records the score of the replay, and everybody can compute it again', async () => {
    const player = await signIn(t);
    const play = await playGame(player);
    await waitForPlay();
    const { status, body } = await submitScore(player, bodyOf(play));
    expect([status, body.status]).toEqual([200, 'accepted']);
    expect(await submitScore(player, bodyOf(play))).toMatchObject({ status: 200, body: { scoreId: body.scoreId } });
    const replay = await jsonOf(await send(t, `/arcade/score/${body.scoreId}/replay`), ReplayView);
    expect(replay).toMatchObject({
      wallet: player.wallet,
      gameId: GAME,
      playId: play.playId,
      score: play.score,
      seed: play.seed.toString('hex'),
    });
    expect(replay.simulation).toMatchObject(RUN_LIMITS);
    const result = resultOf(Buffer.from(replay.seed, 'hex'), Buffer.from(replay.log, 'base64'));
    expect(result).toMatchObject({ score: play.score, ticks: play.played.ticks });
    await expectConsistent(t);
  });

  test('refuses a score without a replay, with another score, seed or log, and counts these refusals', async () => {
    const player = await signIn(t);
    const play = await playGame(player);
    // The log of another seed may give its score with this seed, too.
    let other = play;
    while (resultOf(play.seed, other.played.log)?.score === other.score) other = await playGame(await signIn(t));
    await waitForPlay();
    const { replay: _replay, ...withoutReplay } = bodyOf(play);
    const refusals: [Record<string, unknown>, string][] = [
      [withoutReplay, 'replay is required in this game'],
      [{ ...bodyOf(play), score: play.score + 1 }, 'score must be the score of the replay'],
      [{ ...bodyOf(play), replay: base64(writeInputLog([0])) }, 'score must be the score of the replay'],
      [
        { ...bodyOf(play), replay: base64(Uint8Array.of(1, 5)) },
        'replay must be an input log: the log ends within a span, or an integer has more than 32 bits',
      ],
      [{ ...bodyOf(play), replay: base64(extended(play.played.log)) }, 'replay must end when the game ends'],
      [{ ...bodyOf(play), replay: base64(writeInputLog(new Array<number>(10_801).fill(0))) }, 'replay must not have more ticks than the game allows'],
    ];
    for (const [body, error] of refusals) expect(await submitScore(player, body)).toEqual({ status: 400, body: { error } });
    expect((await submitScore(player, { ...bodyOf(play), replay: other.replay, score: other.score })).status).toBe(400);
    const counted = await (await requestAsAdmin(t, `/admin/replays/refused?wallet=${player.wallet}`)).json();
    expect(counted).toEqual([expect.objectContaining({ gameId: GAME, count: 6, wallet: player.wallet })]);
    // None of the refusals used the play.
    expect((await submitScore(player, bodyOf(play))).status).toBe(200);
  });

  test('refuses a replay with more ticks than fit into the time since the start of the play', async () => {
    const player = await signIn(t);
    const { playId, seed } = await startPlay(player);
    const { score, log, ticks } = playAsBot(module, seed, { idleTicks: 60 });
    expect(ticks).toBeGreaterThan(600);
    const body = { gameId: GAME, playId, score, replay: base64(log) };
    const error = 'replay must not have more ticks than fit into the time of the play';
    expect(await submitScore(player, body)).toEqual({ status: 400, body: { error } });
    await waitForPlay();
    expect((await submitScore(player, body)).status).toBe(200);
  });

  test('refuses a replay of more than 64 KiB and one that is not base64, and names the field', async () => {
    const player = await signIn(t);
    const { playId } = await startPlay(player);
    for (const replay of ['A'.repeat(87_388), 'not base64!', 'AQ']) {
      const { status, body } = await submitScore(player, { gameId: GAME, playId, score: 1, replay });
      expect([status, body.error]).toEqual([400, expect.stringMatching(/^replay/)]);
    }
  });

  test('bounds the plays of a wallet that have a seed and no score', async () => {
    const player = await signIn(t);
    for (let i = 0; i < 50; i += 1) await startPlay(player);
    const response = await player.fetch(`/game/${GAME}/play`, { method: 'POST' });
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect((await (await signIn(t)).fetch(`/game/${GAME}/play`, { method: 'POST' })).status).toBe(201);
  });

  test('shows the replay of a held score to its wallet only', async () => {
    await registerHostile('held-game', { caps: { ...TEST_GAME.caps, scorePerSec: 0.001 } });
    const player = await signIn(t);
    const { playId } = await startPlay(player, 'held-game');
    const { body } = await submitScore(player, { gameId: 'held-game', playId, score: 7, replay: base64(writeInputLog([0])) });
    expect(body.status).toBe('held');
    expect((await send(t, `/arcade/score/${body.scoreId}/replay`)).status).toBe(404);
    expect((await player.fetch(`/arcade/score/${body.scoreId}/replay`)).status).toBe(200);
  });

  test('deletes old replays with their seeds, except those of personal bests', async () => {
    await registerHostile('purged-game', {});
    const player = await signIn(t);
    const scores: string[] = [];
    for (let i = 0; i < 2; i += 1) {
      const { playId } = await startPlay(player, 'purged-game');
      scores.push((await submitScore(player, { gameId: 'purged-game', playId, score: 7, replay: base64(writeInputLog([0])) })).body.scoreId);
    }
    const left = () => Promise.all(scores.map(async (id) => (await send(t, `/arcade/score/${id}/replay`)).status));
    await t.app.tx((tx) => purgeReplays(tx, 90));
    expect(await left()).toEqual([200, 200]);
    await t.clock.set(new Date(t.clock.now().getTime() + 90 * 86_400_000));
    await t.app.tx((tx) => purgeReplays(tx, 90));
    expect(await left()).toEqual([200, 404]);
    const seeds = 'select id, kept from scores join play_seeds using (play_id) left join score_replays on score_id = id where id = any($1::uuid[])';
    expect(await sql(t.app, seeds, [scores])).toEqual([{ id: scores[0], kept: true }]);
  });
});

describe('PUT /admin/games/{id}/simulation', () => {
  test('stores a module under the hash of its metered bytes, and a repeated upload gives the same receipt', async () => {
    const source = new Uint8Array(await readFile('games/block-cascade/block-cascade.wasm'));
    const receipt = await jsonOf(await upload(source), SimulationReceipt);
    expect(receipt.sourceHash).toBe(createHash('sha256').update(source).digest('hex'));
    expect(await jsonOf(await upload(source), SimulationReceipt)).toEqual(receipt);
    expect((await send(t, receipt.path)).status).toBe(200);
    const other = await upload(source, 'ticksPerSecond=60&maxTicks=99&instructionsPerTick=20000');
    const error = 'maxTicks must be 10800, because this module was uploaded with this value before';
    expect([other.status, await other.json()]).toEqual([409, { error }]);
  });

  test('refuses a module that is not allowed, an unknown game, missing limits and a large body', async () => {
    const refused = await upload(buildModule({ memory: [1, 300] }));
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'the memory must declare a maximum of at most 256 pages' }]);
    expect((await upload(buildModule(), LIMITS, 'no-such-game')).status).toBe(404);
    expect((await upload(buildModule(), 'maxTicks=5')).status).toBe(400);
    expect((await upload(new Uint8Array(524_289))).status).toBe(413);
  });

  test('is needed before a game can name its hash', async () => {
    const put = (definition: object) =>
      send(t, '/admin/games/new-game', { method: 'PUT', json: definition, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
    const unknown = await put({ ...TEST_GAME, verification: 'replay', simulation: '0'.repeat(64) });
    expect([unknown.status, await unknown.json()]).toEqual([400, { error: 'simulation must be the hash of an uploaded simulation' }]);
    const missing = await put({ ...TEST_GAME, verification: 'replay' });
    expect([missing.status, await missing.json()]).toEqual([400, { error: 'simulation must be present exactly when the verification is replay' }]);
    expect((await send(t, `/arcade/simulation/${'0'.repeat(64)}`)).status).toBe(404);
  });
});

describe('a hostile simulation', () => {
  test.each([
    ['endless loop', { tick: [...code.endlessLoop, ...code.i32(0)] }, 'replay must not execute more instructions than the game allows'],
    ['endless recursion', { tick: code.call(1) }, 'replay must not make the simulation fail'],
    ['trap', { tick: [0x00] }, 'replay must not make the simulation fail'],
    [
      'memory fill',
      { memory: [256, 256] as [number, number], tick: [OP.loop, EMPTY_BLOCK, ...code.fill(16_777_216), OP.br, 0, OP.end, ...code.i32(0)] },
      'replay must not execute more instructions than the game allows',
    ],
  ])('with an %s gives a refusal, and the worker goes on', async (name, parts, error) => {
    const id = name.replace(' ', '-');
    await registerHostile(id, {}, parts);
    const player = await signIn(t);
    const { playId } = await startPlay(player, id);
    expect(await submitScore(player, { gameId: id, playId, score: 7, replay: base64(writeInputLog([0])) })).toEqual({ status: 400, body: { error } });
    const honest = await playGame(player);
    await waitForPlay();
    expect((await submitScore(player, bodyOf(honest))).status).toBe(200);
  });

  test('that takes longer than the time limit of this machine holds the score', async () => {
    await registerSlow('slow-game');
    const player = await signIn(t);
    const body = await slowScore(player, 'slow-game');
    await waitForPlay();
    const { status, body: answer } = await submitScore(player, body);
    expect([status, answer.status]).toEqual([200, 'held']);
    const held = statement<{ reasons: string[] }>('test_held_reasons', 'select reasons from scores where id = $1');
    expect((await t.app.db.query(held, [answer.scoreId]))[0]?.reasons).toEqual([expect.stringContaining('the replay took longer than 2000 ms')]);
  });

  test('played by ten wallets at once delays an honest score by less than the time limit of one replay', async () => {
    await registerSlow('slow-for-ten');
    const players = await Promise.all(Array.from({ length: 10 }, () => signIn(t)));
    const bodies = await Promise.all(players.map((player) => slowScore(player, 'slow-for-ten')));
    const honest = await signIn(t);
    const play = await playGame(honest);
    await waitForPlay();
    const slow = players.map((player, i) => submitScore(player, bodies[i] ?? {}));
    await sleep(20);
    const begin = performance.now();
    expect((await submitScore(honest, bodyOf(play))).status).toBe(200);
    expect(performance.now() - begin).toBeLessThan(2_000);
    // A score that waits longer than its request gets 503 and is recorded nevertheless.
    for (const { status } of await Promise.all(slow)) expect([200, 503]).toContain(status);
    const recorded = async () => (await Promise.all(players.map((player, i) => submitScore(player, bodies[i] ?? {})))).map(({ body }) => body.status);
    await retryUntilPass(async () => expect(await recorded()).toEqual(new Array(10).fill('held')), 20_000);
  }, 60_000);

  test('played ten times at once by one wallet runs once for long, and the other nine scores are held without a long run', async () => {
    await registerSlow('slow-for-one');
    const player = await signIn(t);
    const bodies = await Promise.all(Array.from({ length: 10 }, () => slowScore(player, 'slow-for-one')));
    await waitForPlay();
    const begin = performance.now();
    const answers = await Promise.all(bodies.map((body) => submitScore(player, body)));
    expect(answers.map(({ body }) => body.status)).toEqual(new Array(10).fill('held'));
    expect(performance.now() - begin).toBeLessThan(4_500);
  });
});

/** Registers a game whose replays exceed the time limit of every machine. */
const registerSlow = (id: string) =>
  registerHostile(id, {}, { tick: [...code.endlessLoop, ...code.i32(0)] }, 'ticksPerSecond=1000&maxTicks=20000&instructionsPerTick=1000000');

/** Starts a play of such a game. Returns the body of its score. */
async function slowScore(player: SignedIn, gameId: string) {
  const { playId } = await startPlay(player, gameId);
  return { gameId, playId, score: 7, replay: base64(writeInputLog(new Array<number>(20_000).fill(0))) };
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** Adds a span of one tick to a log. */
function extended(log: Uint8Array): Uint8Array {
  return writeInputLog([...readInputLog(log).flatMap(({ ticks, input }) => new Array<number>(ticks).fill(input)), 0]);
}

/** Registers a game whose simulation has given parts; its score is 7. */
async function registerHostile(id: string, definition: object, parts: Parameters<typeof buildModule>[0] = {}, limits = LIMITS): Promise<void> {
  await registerGame(t.url, ADMIN_TOKEN, id);
  // An export with the id of the game makes each module another one.
  const { hash } = await jsonOf(await upload(buildModule({ ...parts, names: [id] }), limits, id), SimulationReceipt);
  await registerGame(t.url, ADMIN_TOKEN, id, { ...TEST_GAME, ...definition, verification: 'replay', simulation: hash });
  // The worker would otherwise see the changed game up to a second later.
  if (t.workerApp) invalidateGames(t.workerApp);
}
