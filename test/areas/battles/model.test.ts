import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findGame } from '#areas/arcade/games/registry.ts';
import { decideScore } from '#areas/arcade/scores/decide.ts';
import { admitScores, advanceBattles, battleConsumer } from '#areas/battles';
import { BattleView } from '#areas/battles/schemas.ts';
import { type ActivityEvent, openDay } from '#areas/points';
import type { Statement } from '#platform/db/sql.ts';
import { startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import * as battles from '#test/support/areas/battles.ts';
import { advanceClock, GAME, STRICT_GAME } from '#test/support/areas/battles.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { voidTestScore } from '#test/support/areas/referrals.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await battles.registerGames(t);
});
const leaving: { close(): unknown }[] = [];
afterAll(async () => {
  for (const one of leaving) await one.close();
  await t.close();
});

const chance = (share: number) => Math.random() < share;
const pick = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;

interface Scored {
  readonly id: string;
  readonly wallet: string;
  readonly value: number;
  status: string;
  /** Time of acceptance, ms since 1970. */
  at: number;
}

/** A naive model of a battle: it keeps every score and scans all of them for each question. */
class Model {
  readonly id: string;
  readonly max: number;
  readonly seats: string[];
  readonly scores: Scored[] = [];
  state: 'open' | 'running' | 'finished' | 'expired' = 'open';
  start = 0;
  due: number;
  places: (number | null)[] = [];

  constructor(id: string, max: number, creator: string, now: number) {
    this.id = id;
    this.max = max;
    this.seats = [creator];
    this.due = now + 3_600_000;
  }

  run(now: number): void {
    this.state = 'running';
    this.start = now;
    this.due = now + 120_000;
  }

  /** Returns the best score and the number of scores that count, by seat. */
  table(): (number | null)[][] {
    return this.seats.map((wallet) => {
      const counting = this.scores.filter((s) => s.wallet === wallet && s.status === 'accepted' && s.at >= this.start && s.at < this.due);
      return [counting.length > 0 ? Math.max(...counting.map(({ value }) => value)) : null, counting.length];
    });
  }

  consumed(now: number): void {
    if (this.state === 'running' && this.due > now && this.table().every(([best]) => best !== null)) this.due = now;
  }

  advance(now: number): void {
    if (this.due > now) return;
    if (this.state === 'open') this.state = 'expired';
    if (this.state !== 'running') return;
    this.state = 'finished';
    const bests = this.table().map(([best]) => best ?? null);
    this.places = bests.map((best) => (best === null ? null : 1 + bests.filter((other) => other !== null && other > best).length));
  }

  refusal(wallet: string, now: number): number | null {
    if (!this.seats.includes(wallet)) return 403;
    return this.state === 'running' && this.due > now ? null : 409;
  }
}

test('battles match a naive model for random actions in random order', async () => {
  const wallets = await battles.createPlayers(t.app, 5);
  const models: Model[] = [];
  const finals = new Map<string, unknown>();
  const game = await findGame(t.app, STRICT_GAME);
  if (!game) throw new Error('no game');
  const now = () => t.clock.now().getTime();
  /** Advances the clock to a random time that is not close to an end, so that a stall of the machine changes no result. */
  const leap = async () => {
    let to = now() + randomInt(1_000, 40_000);
    while (models.some(({ due }) => due > to - 1_000 && due < to + 20_000)) to += 20_000;
    await t.clock.set(new Date(to));
  };
  const check = async (model: Model) => {
    const { status: state, participants } = await battles.battle(t.app, model.id);
    expect([model.id, state, participants.map(({ wallet }) => wallet)]).toEqual([model.id, model.state, model.seats]);
    if (state === 'running') expect(await battles.readSeats(t.app, model.id)).toEqual(model.table().map((row) => [...row, null]));
    if (state !== 'finished') return;
    const final = await battles.readSeats(t.app, model.id);
    if (!finals.has(model.id))
      finals.set(
        model.id,
        model.table().map((row, i) => [...row, model.places[i]]),
      );
    expect(final).toEqual(finals.get(model.id));
  };

  const acts: Record<string, () => Promise<void>> = {
    async create() {
      if (models.filter(({ state }) => state === 'open' || state === 'running').length >= 4) return;
      const [creator, max] = [pick(wallets), randomInt(2, 5)];
      const id = await battles.openBattle(t.app, [creator], { gameId: STRICT_GAME, maxPlayers: max, durationSec: 120 });
      models.push(new Model(id, max, creator, now()));
    },
    async join() {
      const [model, wallet] = [pick(models), pick(wallets)];
      const may = model.seats.includes(wallet) || (model.state === 'open' && model.due > now());
      expect(
        await battles.joined(t.app, wallet, model.id).then(
          () => true,
          () => false,
        ),
      ).toBe(may);
      if (!may || model.seats.includes(wallet)) return;
      model.seats.push(wallet);
      if (model.seats.length === model.max) model.run(now());
    },
    async start() {
      const model = pick(models);
      const may = model.state === 'open' && model.due > now() && model.seats.length > 1;
      expect(
        await battles.started(t.app, model.seats[0] ?? '', model.id).then(
          () => true,
          () => false,
        ),
      ).toBe(may);
      if (may) model.run(now());
    },
    async score() {
      const [model, wallet] = [pick(models.slice(-6)), chance(0.8) ? pick(pick(models.slice(-6)).seats) : pick(wallets)];
      const outcome = await battles.tryScore(t.app, wallet, model.id, chance(0.8) ? 10 * randomInt(1, 8) : 5_000);
      expect(outcome.status).toBe(model.refusal(wallet, now()) ?? 200);
      if (outcome.status !== 200) return;
      const { scoreId, status, normalizedScore } = outcome.receipt;
      model.scores.push({ id: scoreId, wallet, value: normalizedScore, status, at: now() });
    },
    async decide() {
      const held = models.flatMap(({ scores }) => scores).filter(({ status }) => status === 'held');
      if (held.length === 0) return;
      const [one, verdict] = [pick(held), chance(0.7) ? 'accept' : 'reject'] as const;
      await decideScore(t.app, game, one.id, verdict, { by: 'test', reason: undefined });
      Object.assign(one, { status: `${verdict}ed`, at: now() });
    },
    async void() {
      const accepted = models
        .slice(-4)
        .flatMap(({ scores }) => scores)
        .filter(({ status }) => status === 'accepted');
      if (accepted.length === 0) return;
      const one = pick(accepted);
      await voidTestScore(t.app, one.id);
      one.status = 'voided';
    },
    async consume() {
      if (chance(0.3)) await expect(battles.consumeBattles(battles.failCommits(t.app))).rejects.toThrow('killed');
      await battles.consumeBattles(t.app);
      for (const model of models) await check(model);
      for (const model of models) model.consumed(now());
    },
    async advance() {
      if (chance(0.3)) await advanceBattles(battles.failCommits(t.app)).catch((error) => expect(String(error)).toContain('killed'));
      await Promise.all([advanceBattles(t.app), advanceBattles(t.app)]);
      for (const model of models) model.advance(now());
      for (const model of models) if (model.state !== 'running') await check(model);
    },
  };
  await acts.create?.();
  for (let step = 0; step < 160; step++) {
    await leap();
    await acts[pick(['create', 'join', 'join', 'start', 'score', 'score', 'score', 'score', 'score', 'decide', 'void', 'consume', 'advance'])]?.();
  }
  await advanceClock(t, 7_200);
  await acts.consume?.();
  await acts.advance?.();
  for (const model of models) {
    await check(model);
    const types = (await battles.readEvents(t.app, model.id)).map(({ type }) => type);
    expect(types).toEqual(model.state === 'finished' ? ['battle_started', 'battle_result'] : []);
  }
  expect(models.some(({ state }) => state === 'finished')).toBe(true);
});

test('scores without a battle cause no statement, neither when they are admitted nor when they are consumed', async () => {
  const { wallet, ...one } = battles.submission(t.app, { wallet: 'w', score: 1 });
  const deaf = { ...t.app, db: { query: () => Promise.reject(new Error('asked')) } };
  expect(
    await admitScores(
      deaf,
      Array.from({ length: 500 }, () => ({ ...one, wallet })),
    ),
  ).toEqual(new Map());
  const activity: ActivityEvent = { kind: 'score', sourceId: randomUUID(), wallet, gameId: GAME, battleId: null, amount: 1n, day: 0, at: 0 };
  const count = async (activities: ActivityEvent[]) => {
    const names: string[] = [];
    await t.app.tx(async (tx) => {
      const query = <Row>(asked: Statement<Row>, values?: readonly unknown[]) => {
        names.push(asked.name ?? '');
        return tx.query(asked, values);
      };
      await battleConsumer.consume(t.app, { ...tx, query }, await openDay(tx), activities);
    });
    return names.length;
  };
  expect(await count(Array.from({ length: 1_000 }, () => activity))).toBe(0);
  const [id, a] = await battles.startRunningBattle(t.app, 2);
  const sourceId = await battles.score(t.app, a, id, 100);
  await battles.consumeBattles(t.app);
  expect(await count(Array.from({ length: 1_000 }, () => ({ ...activity, sourceId, battleId: id })))).toBe(3);
});

test('a consumer or a worker that is killed before its commit has no effect, and the retry has it once', async () => {
  const [id, a, b] = await battles.startRunningBattle(t.app, 2);
  const types = async () => [(await battles.battle(t.app, id)).status, ...(await battles.readEvents(t.app, id)).map(({ type }) => type)];
  await battles.score(t.app, a, id, 100);
  await expect(battles.consumeBattles(battles.failCommits(t.app))).rejects.toThrow('killed');
  expect((await battles.readSeats(t.app, id))[0]).toEqual([null, 0, null]);
  await Promise.all([1, 2, 3].map(() => battles.consumeBattles(t.app)));
  await battles.consumeBattles(t.app);
  expect((await battles.readSeats(t.app, id))[0]).toEqual([100, 1, null]);
  await battles.score(t.app, b, id, 200);
  await advanceClock(t, 301);
  await expect(advanceBattles(battles.failCommits(t.app))).rejects.toThrow('killed');
  expect(await types()).toEqual(['running', 'battle_started']);
  await advanceBattles(t.app);
  await battles.consumeBattles(t.app);
  expect(await types()).toEqual(['finished', 'battle_started', 'battle_result']);
});

test('workers run a battle from its last seat to its result across a restart, and a repeated score still gets its receipt', async () => {
  const [me, other] = [await signIn(t), await signIn(t)];
  const worker = await startWorker(t.env, t.clock);
  leaving.push(worker);
  const stream = await openEvents(t, { query: 'categories=gameplay' });
  leaving.push(stream);
  const { id } = await jsonOf(me.fetch('/battle/create', { json: { gameId: GAME } }), BattleView);
  const headers = { 'Idempotency-Key': randomUUID() };
  const submit = (who: typeof me, score: number) => who.fetch('/arcade/score', { json: { gameId: GAME, score, battleId: id }, headers });
  const refused = async (asked: Promise<Response>) => [(await asked).status, await (await asked).json()];
  expect(await refused(submit(me, 500))).toEqual([409, { error: 'battleId must be a battle that is running' }]);
  expect(await refused(submit(other, 500))).toEqual([403, { error: 'battleId must be a battle that you have joined' }]);
  expect((await other.fetch(`/battle/${id}/join`, { method: 'POST' })).status).toBe(200);
  const look = () => jsonOf(fetch(`${t.url}/battle/${id}`), BattleView);
  const first = (await (await submit(me, 500)).json()) as { scoreId: string };
  await retryUntilPass(async () => expect((await look()).participants.map(({ score }) => score)).toEqual([500, null]));
  await worker.close();
  leaving.shift();
  leaving.push(await startWorker(t.env, t.clock));
  expect((await submit(other, 400)).status).toBe(200);
  await retryUntilPass(async () => expect((await look()).status).toBe('finished'), 40_000);
  await stream.until('the result', () => stream.values('battleId', 'battle_result').includes(id));
  const end = await look();
  expect(end).toMatchObject({
    status: 'finished',
    winners: [me.wallet],
    participants: [
      { score: 500, place: 1 },
      { score: 400, place: 2 },
    ],
  });
  expect(stream.messages.filter(({ data }) => data.battleId === id).map(({ event }) => event)).toEqual([
    'battle_created',
    'battle_joined',
    'battle_started',
    'battle_result',
  ]);
  expect(await (await submit(me, 500)).json()).toMatchObject({ scoreId: first.scoreId, status: 'accepted' });
  expect((await submit(me, 600)).status).toBe(409);
});
