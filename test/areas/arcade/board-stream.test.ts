import { expect, test } from '@jest/globals';
import { eventStreamKey } from '#platform/events/redis-stream.ts';
import { startApi } from '#test/support/api.ts';
import { ADMIN_TOKEN, startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { type Message, openEvents, type SseClient } from '#test/support/http/sse.ts';
import { contradictions } from '#test/support/invariants.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';
import { runChecks } from '#tools/audit/audit.ts';
import { activityChecks } from '#tools/audit/checks/activities.ts';

const GAMES = ['open-game', 'strict-game', 'capped-game'] as const;
const PLAYERS = 5;
type Board = Map<string, number>;

const admin = async (t: TestApp, path: string, json: unknown) => {
  const response = await send(t, path, { json, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

async function readBoard(url: string, gameId: string): Promise<Board> {
  const response = await fetch(`${url}/game/${gameId}/leaderboard?limit=500`);
  return new Map(((await response.json()) as { wallet: string; score: number }[]).map(({ wallet, score }) => [wallet, score]));
}

/** A front end that knows the boards only from the stream. It reads a board only when the stream says so. */
class FrontEnd {
  readonly boards = new Map<string, Board>(GAMES.map((game) => [game, new Map()]));
  /** Own scores that the stream brought, by id. */
  readonly own: Message['data'][] = [];
  resets = 0;
  readonly #urls: readonly string[];
  readonly #cookie: string;
  #client: SseClient | null = null;
  #lastId = '';
  #turn = 0;
  #applied = 0;

  constructor(urls: readonly string[], cookie: string) {
    this.#urls = urls;
    this.#cookie = cookie;
  }

  get #url(): string {
    return this.#urls[this.#turn++ % this.#urls.length] ?? '';
  }

  async open(): Promise<void> {
    if (this.#client?.isOpen) return;
    const client = await openEvents({ url: this.#url }, { query: 'categories=gameplay', cookie: this.#cookie, lastEventId: this.#lastId });
    this.#client = client;
    this.#applied = 0;
    await client.until('the stream', () => client.comments.length > 0);
  }

  async close(): Promise<void> {
    await this.apply();
    this.#client?.close();
    this.#client = null;
  }

  /** Applies the messages that arrived. */
  async apply(): Promise<void> {
    const client = this.#client;
    if (client === null) return;
    for (; this.#applied < client.messages.length; this.#applied++) {
      const message = client.messages[this.#applied];
      if (message) await this.#take(message);
    }
    if (client.lastEventId !== '') this.#lastId = client.lastEventId;
  }

  async #take({ event, data }: Message): Promise<void> {
    if (event === 'reset') {
      this.resets++;
      for (const game of GAMES) await this.#read(game);
    } else if (event === 'score_update') {
      const { updates, more = [] } = data as { updates?: { wallet: string; gameId: string; score: number | null }[]; more?: string[] };
      for (const { wallet, gameId, score } of updates ?? []) {
        if (score === null) this.boards.get(gameId)?.delete(wallet);
        else this.boards.get(gameId)?.set(wallet, score);
      }
      for (const game of more) await this.#read(game);
    } else if (event === 'score_recorded') this.own.push(data);
  }

  async #read(game: string): Promise<void> {
    this.boards.set(game, await readBoard(this.#url, game));
  }
}

/** A random history of scores and decisions, with several operations at a time. */
class History {
  readonly answers: Record<string, unknown>[] = [];
  readonly #t: TestApp;
  readonly #random: ReturnType<typeof randomGenerator>;
  readonly #wallets = Array.from({ length: PLAYERS }, () => createWallet());
  readonly #players: (SignedIn | null)[] = [];
  readonly #ids = { accepted: [] as string[], held: [] as string[], voided: [] as string[] };

  constructor(t: TestApp, seed: number) {
    this.#t = t;
    this.#random = randomGenerator(seed);
  }

  async signIn(): Promise<SignedIn> {
    for (const wallet of this.#wallets) this.#players.push(await signIn(this.#t, wallet));
    const first = this.#players[0];
    if (!first) throw new Error('there are no players');
    return first;
  }

  #take(ids: string[]): string | undefined {
    return ids.length === 0 ? undefined : ids.splice(this.#random.int(0, ids.length - 1), 1)[0];
  }

  async step(): Promise<void> {
    const kind = this.#random.pick([
      'score',
      'score',
      'score',
      'score',
      'held',
      'held',
      'decide',
      'decide',
      'void',
      'void',
      'restore',
      'beta',
      'ban',
      'again',
    ]);
    const index = this.#random.int(0, PLAYERS - 1);
    const player = this.#players[index];
    if (kind === 'score' && player) return await this.#score(player, this.#random.pick(['open-game', 'capped-game']), index);
    if (kind === 'held' && player) return await this.#score(player, 'strict-game', index);
    if (kind === 'decide') return await this.#decide(this.#take(this.#ids.held), this.#random.pick(['accept', 'accept', 'reject']));
    if (kind === 'void') return await this.#change(this.#take(this.#ids.accepted), 'void', this.#ids.voided);
    if (kind === 'restore') return await this.#change(this.#take(this.#ids.voided), 'restore', this.#ids.accepted);
    if (kind === 'beta' && player && index > 0) await player.fetch('/api/beta/preference', { json: {} });
    if (kind === 'ban' && player && index > 0 && this.#random.int(1, 3) === 1) await this.#ban(index, player);
    // A score of a player is sent again: it has no effect.
    const answer = this.answers.at(-1);
    if (kind === 'again' && answer) await this.#players[0]?.fetch('/arcade/score', { json: answer.sent });
  }

  async #score(player: SignedIn, gameId: string, index: number): Promise<void> {
    const started = await player.fetch(`/game/${gameId}/play`, { method: 'POST' });
    if (started.status !== 201) return;
    const { playId } = (await started.json()) as { playId: string };
    const sent = { gameId, score: this.#random.int(0, 10_000), playId };
    const response = await player.fetch('/arcade/score', { json: sent });
    if (response.status !== 200) return;
    const receipt = (await response.json()) as Record<string, unknown> & { scoreId: string; status: string };
    if (index === 0) this.answers.push({ ...receipt, sent });
    if (receipt.status === 'held') this.#ids.held.push(receipt.scoreId);
    else this.#ids.accepted.push(receipt.scoreId);
  }

  async #decide(id: string | undefined, decision: string): Promise<void> {
    if (id === undefined) return;
    const { status } = await admin(this.#t, `/admin/scores/${id}/decision`, { decision });
    expect([200, 409]).toContain(status);
    if (status === 200 && decision === 'accept') this.#ids.accepted.push(id);
  }

  async #change(id: string | undefined, what: 'void' | 'restore', to: string[]): Promise<void> {
    if (id === undefined) return;
    const { status } = await admin(this.#t, `/admin/scores/${id}/${what}`, { reason: 'a test' });
    expect([200, 409]).toContain(status);
    if (status === 200) to.push(id);
  }

  async #ban(index: number, { wallet }: SignedIn): Promise<void> {
    this.#players[index] = null;
    expect((await admin(this.#t, `/admin/wallets/${wallet}/ban`, { reason: 'a test' })).status).toBe(200);
    if (this.#random.int(0, 1) === 1) await new Promise((resolve) => setTimeout(resolve, 100));
    if ((await admin(this.#t, `/admin/wallets/${wallet}/unban`, {})).status !== 200) return;
    this.#players[index] = await signIn(this.#t, this.#wallets[index]);
  }
}

test.each(Array.from({ length: Number(process.env.MODEL_SEEDS ?? 2) }, (_, i) => i + 1))(
  'a front end that applies only the stream has the boards that REST shows, and hears each of its own scores once (history %i)',
  async (seed) => {
    const t = await startTestApp({ env: { DAILY_POINTS_CAP: '250' } });
    const [worker, api] = [await startWorker({ ...t.env }), await startApi(t.env)];
    const random = randomGenerator(1_000 + seed);
    try {
      await registerGame(t.url, ADMIN_TOKEN, 'open-game', { ...TEST_GAME, verification: 'none' });
      await registerGame(t.url, ADMIN_TOKEN, 'strict-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, scorePerSec: 5_000 } });
      await registerGame(t.url, ADMIN_TOKEN, 'capped-game', { ...TEST_GAME, caps: { ...TEST_GAME.caps, dailyPoints: 130 } });
      const history = new History(t, seed);
      const { cookie } = await history.signIn();
      const steady = new FrontEnd([t.url], cookie);
      const unsteady = new FrontEnd([t.url, api.url], cookie);
      await Promise.all([steady.open(), unsteady.open()]);
      for (let i = 0; i < 60; i++) {
        await Promise.all(Array.from({ length: random.int(1, 4) }, () => history.step()));
        if (random.int(1, 4) === 1) await unsteady.close();
        if (random.int(1, 2) === 1) await unsteady.open();
        // Loses the stream, so that every subscriber receives a reset.
        if (seed % 2 === 0 && random.int(1, 20) === 1) await t.app.redis.unlink(eventStreamKey(t.app.config));
        await Promise.all([steady.apply(), unsteady.apply()]);
      }
      await unsteady.open();
      const answers = history.answers.map(({ sent, rank, ...receipt }) => receipt);
      await retryUntilPass(async () => {
        await Promise.all([steady.apply(), unsteady.apply()]);
        for (const game of GAMES) {
          const board = await readBoard(t.url, game);
          expect({ game, board: steady.boards.get(game) }).toEqual({ game, board });
          expect({ game, board: unsteady.boards.get(game) }).toEqual({ game, board });
        }
        // A held score changes no board, so its event can arrive after the boards are equal.
        for (const { own, resets } of [steady, unsteady]) if (resets === 0) expect(own).toHaveLength(answers.length);
      });
      for (const { own } of [steady, unsteady]) {
        const heard = own.map(({ type, category, at, gameId, rank, ...receipt }) => receipt);
        expect(new Set(heard.map(({ scoreId }) => scoreId)).size).toBe(heard.length);
        expect(answers).toEqual(expect.arrayContaining(heard));
      }
      expect(steady.resets > 0).toBe(seed % 2 === 0);
      const places = { databaseUrl: t.env.DATABASE_URL ?? '', redisUrl: t.env.REDIS_URL ?? '', redisPrefix: t.env.REDIS_PREFIX ?? '' };
      await retryUntilPass(async () => {
        expect(await contradictions(places)).toEqual([]);
        const results = await runChecks(t.app.config, activityChecks, { recheck: { attempts: 2, intervalMs: 20 } });
        expect(results.flatMap(({ listed, failure }) => [...listed, ...(failure === null ? [] : [failure])])).toEqual([]);
      });
      await Promise.all([steady.close(), unsteady.close()]);
    } finally {
      await Promise.all([worker.close(), api.close()]);
      await t.close();
    }
  },
  120_000,
);
