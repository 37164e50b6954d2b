import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readBurnBoard, readBurnRank } from '#areas/burns/boards.ts';
import type { FinalizedTransaction } from '#areas/burns/finalized-transaction.ts';
import { endEvent } from '#areas/burns/lifecycle.ts';
import { MAX_RANGE_SIZE } from '#areas/burns/ranges.ts';
import { type BurnEventRow, readEvent } from '#areas/burns/rows.ts';
import { BURN_SOURCES, type BurnBoard } from '#areas/burns/schemas.ts';
import { percentile } from '#lib/ranking.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import { activateNewEvent, createTestEvent, creditAll, finalizedBurn, readEffects } from '#test/support/areas/burns.ts';
import { randomWallet, statusAndBody } from '#test/support/areas/epochs.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { REWARD_MINT: randomWallet() } });
});
afterAll(() => t.close());

type Random = ReturnType<typeof randomGenerator>;
const pick = <T>(random: Random, from: readonly T[]): T => from[random.int(0, from.length - 1)] as T;

const BOARDS: readonly BurnBoard[] = ['total', ...BURN_SOURCES];

/** A reference model: holds all burns that count and computes each answer from scratch. */
class Model {
  readonly #burns: { wallet: string; amount: bigint; source: string | null }[] = [];

  add(burns: readonly { wallet: string; amount: bigint; source: string | null }[]): void {
    this.#burns.push(...burns);
  }

  board(board: BurnBoard): { rank: number; wallet: string; amount: string }[] {
    const sums = new Map<string, bigint>();
    for (const { wallet, amount, source } of this.#burns) {
      if (board === 'total' || board === source) sums.set(wallet, (sums.get(wallet) ?? 0n) + amount);
    }
    const sorted = [...sums].sort(([a, x], [b, y]) => (x === y ? (a < b ? 1 : -1) : x < y ? 1 : -1));
    return sorted.map(([wallet, amount]) => ({ rank: 1 + sorted.findIndex(([, other]) => other === amount), wallet, amount: String(amount) }));
  }

  sum = (board: BurnBoard) =>
    String(this.#burns.reduce((sum, { amount, source }) => (board === 'total' || board === source ? sum + amount : sum), 0n));
}

/** Compares boards, pages, ranks and totals with the model. */
async function compare(event: BurnEventRow, model: Model, random: Random): Promise<void> {
  const boards = new Map(BOARDS.map((board) => [board, model.board(board)]));
  for (const [board, all] of boards) {
    const n = all.length;
    for (let i = 0; i < 3; i++) {
      const [limit, offset] = [random.int(1, 500), random.int(0, n + 2)];
      expect(await readBurnBoard(t.app, event.id, board, { limit, offset, around: null })).toEqual({
        entries: all.slice(offset, offset + limit),
        total: n,
      });
      const place = random.int(0, n - 1);
      const from = Math.max(0, place - Math.floor(limit / 2));
      const { entries } = await readBurnBoard(t.app, event.id, board, { limit, offset: 0, around: all[place]?.wallet ?? null });
      expect(entries).toEqual(all.slice(from, from + limit));
    }
  }
  const total = boards.get('total') ?? [];
  for (let i = 0; i < 10; i++) {
    const one = pick(random, total);
    const of = (board: BurnBoard) => boards.get(board)?.find(({ wallet }) => wallet === one.wallet)?.amount ?? '0';
    const bySource = { referral: of('referral'), game: of('game'), social: of('social') };
    expect(await readBurnRank(t.app.db, event.id, one.wallet)).toEqual({
      rank: one.rank,
      burned: one.amount,
      percentile: percentile(one.rank, total.length),
      bySource,
    });
  }
  const { burned, participants, referral, game, social } = await readEvent(t.app.db, event.id);
  expect({ burned, participants, referral, game, social }).toEqual({
    ...{ burned: model.sum('total'), participants: total.length },
    ...{ referral: model.sum('referral'), game: model.sum('game'), social: model.sum('social') },
  });
}

/** Selects the ranges whose `n` differs from the number of their standings. The result must be empty. */
const wrongRanges = (event: BurnEventRow) =>
  sql(
    t.app,
    `select r.*, s.n as really from (
       select *, lead(amount) over w as next_amount, lead(wallet) over w as next_wallet from burn_ranges where event_id = $1
       window w as (partition by board order by amount desc, wallet desc)) r, lateral (
       select count(*)::int as n from burn_standings s where s.event_id = r.event_id and s.board = r.board and (s.amount, s.wallet) <= (r.amount, r.wallet)
         and (r.next_amount is null or (s.amount, s.wallet) > (r.next_amount, r.next_wallet))) s
     where r.n <> s.n or r.n > ${MAX_RANGE_SIZE + 500}`,
    [event.id],
  );

/** Creates wallets: one third linked, one third referred, one third neither. `holds` is the source that is valid for the wallet. */
async function makeWallets(n: number): Promise<{ wallet: string; holds: string | null }[]> {
  const wallets = Array.from({ length: n }, (_, i) => ({ wallet: randomWallet(), holds: [null, 'social', 'referral'][i % 3] ?? null }));
  const of = (source: string) => wallets.flatMap(({ wallet, holds }) => (holds === source ? [wallet] : []));
  await sql(
    t.app,
    `insert into linked_accounts (platform, account_id, handle, wallet, linked_at) select 'x', w, 'h', w, '2026-01-01' from unnest($1::text[]) w`,
    [of('social')],
  );
  const referrer = randomWallet();
  await sql(t.app, `insert into referral_links (wallet, n, code) values ($1, 1, '7K3QXM9A') on conflict do nothing`, [referrer]);
  await sql(t.app, `insert into referrals (wallet, referrer, code, bound_at) select w, $2, '7K3QXM9A', '2026-01-01' from unnest($1::text[]) w`, [
    of('referral'),
    referrer,
  ]);
  return wallets;
}

const get = (path: string) => statusAndBody(send(t, path));
const place = (rank: number, { wallet }: Pick<SignedIn, 'wallet'>, amount: bigint | number) => ({ rank, wallet, amount: String(amount) });
const HUGE = 2n ** 64n - 1n;

test('boards rank wallets by total burns and by source, with ties, pages and the caller’s rank', async () => {
  const event = await activateNewEvent(t.app);
  const people = await Promise.all(Array.from({ length: 4 }, () => signIn(t)));
  const [a, b, c, d] = people.sort((one, two) => (one.wallet < two.wallet ? 1 : -1)) as [SignedIn, SignedIn, SignedIn, SignedIn];
  const linked = (who: SignedIn) =>
    sql(t.app, `insert into linked_accounts (platform, account_id, handle, wallet, linked_at) values ('x', $1::text, 'h', $1::text, '2026-01-01')`, [
      who.wallet,
    ]);
  await Promise.all([linked(b), linked(c), linked(d)]);
  await creditAll(t.app, event, [
    finalizedBurn(event, a.wallet, HUGE, 'social'),
    finalizedBurn(event, b.wallet, 40n, 'social'),
    finalizedBurn(event, c.wallet, 30n, 'social'),
    finalizedBurn(event, c.wallet, 10n, 'game'),
    finalizedBurn(event, d.wallet, 5n, 'social'),
  ]);
  const board = (path = '', query = '') => get(`/events/burn/${event.id}/leaderboard${path}${query}`);
  const all = [place(1, a, HUGE), place(2, b, 40), place(2, c, 40), place(4, d, 5)];
  expect(await board()).toEqual([200, all]);
  expect(await board('/social')).toEqual([200, [place(1, b, 40), place(2, c, 30), place(3, d, 5)]]);
  for (const path of ['/referrals', '/game']) expect(await board(path)).toEqual([200, []]);
  expect(await board('', '?limit=2&offset=1')).toEqual([200, all.slice(1, 3)]);
  expect(await board('', '?offset=2&limit=1')).toEqual([200, [place(2, c, 40)]]);
  expect(await board('', '?offset=9')).toEqual([200, []]);
  for (const query of ['?limit=0', '?limit=501', '?offset=-1', '?around=you']) expect((await board('', query))[0]).toBe(400);

  const page = await send(t, `/events/burn/${event.id}/leaderboard/social?limit=1`);
  expect(page.headers.get('X-Total-Count')).toBe('3');
  const again = await send(t, `/events/burn/${event.id}/leaderboard/social?limit=1`, {
    headers: { 'If-None-Match': page.headers.get('ETag') ?? '' },
  });
  expect(again.status).toBe(304);

  const around = (who: Pick<SignedIn, 'fetch'>, query: string) => statusAndBody(who.fetch(`/events/burn/${event.id}/leaderboard${query}`));
  expect(await around(d, '?around=me&limit=2')).toEqual([200, all.slice(2, 4)]);
  expect(await around(a, '/social?around=me&limit=2')).toEqual([200, [place(1, b, 40), place(2, c, 30)]]);
  expect(await get(`/events/burn/${event.id}/leaderboard?around=me`)).toEqual([401, { error: 'around requires a session, sign in first' }]);

  const rank = (who: SignedIn) => statusAndBody(who.fetch(`/events/burn/${event.id}/rank`));
  const none = { referral: '0', game: '0', social: '0' };
  expect(await rank(a)).toEqual([200, { rank: 1, burned: String(HUGE), percentile: 100, bySource: none }]);
  expect(await rank(c)).toEqual([200, { rank: 2, burned: '40', percentile: 75, bySource: { ...none, social: '30' } }]);
  expect(await rank(d)).toEqual([200, { rank: 4, burned: '5', percentile: 25, bySource: { ...none, social: '5' } }]);
  expect(await rank(await signIn(t))).toEqual([200, { rank: null, burned: '0', percentile: null, bySource: none }]);

  await endEvent(t.app, event.id);
  expect(await board()).toEqual([200, all]);
  expect((await get(`/events/burn/${event.id}`))[1]).toMatchObject({
    ...{ status: 'ended', participants: 4, burnTotal: String(HUGE + 85n) },
    bySource: { referral: '0', game: '0', social: '75' },
  });
});

const creditMany = (event: BurnEventRow, burns: Parameters<typeof creditAll>[2]) =>
  Promise.all(Array.from({ length: 50 }, () => creditAll(t.app, event, burns)));

test('a burn that is credited 50 times concurrently counts once', async () => {
  const event = await activateNewEvent(t.app);
  const wallet = randomWallet();
  const two = [
    { index: 0, wallet, amount: 5n },
    { index: 3, wallet, amount: HUGE },
  ];
  const burns = [finalizedBurn(event, wallet, 1n), finalizedBurn(event, wallet, 1n, 'game', { burns: two })];
  await creditMany(event, burns);
  const burned = String(HUGE + 6n);
  expect(await readEffects(t.app, event)).toEqual({
    ...{ burned, participants: 1, referral: '0', game: '0', social: '0', burns: 3 },
    // The activity stores at most the maximum of int8.
    activities: { n: 3, sum: String(2n ** 63n - 1n + 6n) },
    events: { n: 3, last: burned },
  });
});

test('a burn outside the event’s period, of another mint, or for a pending or final event does not count', async () => {
  const event = await activateNewEvent(t.app);
  const [since, until] = [Date.parse(event.activatedAt ?? ''), Date.parse(event.endsAt ?? '')];
  const wallet = randomWallet();
  await creditAll(t.app, event, [
    finalizedBurn(event, wallet, 1n, 'game', { at: since - 1_000 }),
    finalizedBurn(event, wallet, 1n, 'game', { at: until }),
  ]);
  await creditAll(t.app, { ...event, mint: randomWallet() }, [finalizedBurn(event, wallet, 1n)]);
  const pending = await createTestEvent(t.app);
  await creditAll(t.app, pending, [finalizedBurn(pending, wallet, 1n, 'game', { at: since })]);
  await creditAll(t.app, event, [
    finalizedBurn(event, wallet, 1n, 'game', { memo: 'no-memo' }),
    finalizedBurn(event, wallet, 1n, 'game', { burns: [] }),
  ]);
  expect(await readEffects(t.app, event)).toMatchObject({ burns: 0, burned: '0', participants: 0 });
  await creditAll(t.app, event, [
    finalizedBurn(event, wallet, 1n, 'game', { at: since }),
    finalizedBurn(event, wallet, 2n, 'game', { at: until - 1_000 }),
  ]);
  expect(await readEffects(t.app, event)).toMatchObject({ burns: 2, burned: '3', participants: 1 });
  await endEvent(t.app, event.id);
  await sql(t.app, 'update burn_events set final_at = app_now() where id = $1', [event.id]);
  await creditAll(t.app, event, [finalizedBurn(event, wallet, 4n)]);
  expect(await readEffects(t.app, event)).toMatchObject({ burns: 2, burned: '3' });
});

const SEED = Math.floor(Math.random() * 2 ** 31);

test.each([
  ['few wallets with equal repeated burns', 30, 12, 12, [1, 2, 3, 5]],
  ['thousands of wallets, most with equal burns', 3_000, 9, 500, [1_000_000, 1_000_000, 1_000_000, 7, 2_000_000]],
])(`boards equal those of a reference model: %s (seed ${SEED})`, async (_, n, rounds, most, amounts) => {
  const random = randomGenerator(SEED);
  const event = await activateNewEvent(t.app);
  const wallets = await makeWallets(n);
  const model = new Model();
  const sent: FinalizedTransaction[] = [];
  let next = 0;
  const make = (): FinalizedTransaction => {
    const { wallet, holds } = n > most ? (wallets[next++ % n] ?? pick(random, wallets)) : pick(random, wallets);
    const named = pick(random, [...BURN_SOURCES, 'social', 'referral'] as const);
    const burns = Array.from({ length: random.int(1, 2) }, (_, index) => ({ index, wallet, amount: BigInt(pick(random, amounts)) }));
    const inTime = random.int(0, 9) > 0;
    if (inTime) model.add(burns.map(({ amount }) => ({ wallet, amount, source: holds === named ? named : null })));
    const at = Date.parse((inTime ? event.activatedAt : event.endsAt) ?? '');
    return finalizedBurn(event, wallet, 0n, named, { burns, at, slot: random.int(1, 1_000) });
  };
  for (let round = 0; round < rounds; round++) {
    const fresh = Array.from({ length: random.int(Math.ceil(most / 2), most) }, make);
    const again = sent.length > 0 ? Array.from({ length: random.int(0, 20) }, () => pick(random, sent)) : [];
    sent.push(...fresh);
    const half = Math.floor(fresh.length / 2);
    // Two concurrent runs share transactions, and some of them were credited before.
    await Promise.all([creditAll(t.app, event, [...fresh.slice(half), ...again]), creditAll(t.app, event, [...again, ...fresh.slice(0, half + 5)])]);
    if (n === 30) await compare(event, model, random);
  }
  await compare(event, model, random);
  expect(await wrongRanges(event)).toEqual([]);
  if (n > MAX_RANGE_SIZE) expect((await sql(t.app, 'select 1 from burn_ranges where event_id = $1', [event.id])).length).toBeGreaterThan(4);
});

test('banned wallets are on no board and have no rank, the ranks below them move up, and the end of the ban restores the board', async () => {
  const random = randomGenerator(11);
  const event = await activateNewEvent(t.app);
  const wallets = Array.from({ length: 40 }, () => randomWallet());
  await creditAll(
    t.app,
    event,
    wallets.map((wallet) => finalizedBurn(event, wallet, BigInt(random.int(1, 12)))),
  );
  const read = async (limit: number, offset: number) => await readBurnBoard(t.app, event.id, 'total', { limit, offset, around: null });
  const before = await read(100, 0);
  const banned = wallets.filter(() => random.int(1, 3) === 1);
  const setBan = (at: string) =>
    sql(
      t.app,
      `insert into players (wallet, banned_at) select w, ${at} from unnest($1::text[]) w on conflict (wallet) do update set banned_at = ${at}`,
      [banned],
    );
  await setBan('app_now()');
  const shown = before.entries.filter(({ wallet }) => !banned.includes(wallet));
  const expected = shown.map((entry) => ({ ...entry, rank: 1 + shown.findIndex(({ amount }) => amount === entry.amount) }));
  for (let i = 0; i < 40; i += 1) {
    const [limit, offset] = [random.int(1, 30), random.int(0, expected.length + 2)];
    expect(await read(limit, offset)).toEqual({ entries: expected.slice(offset, offset + limit), total: expected.length });
    const centre = random.int(0, expected.length - 1);
    const from = Math.max(0, centre - Math.floor(limit / 2));
    const around = await readBurnBoard(t.app, event.id, 'total', { limit, offset: 0, around: expected[centre]?.wallet ?? null });
    expect(around.entries).toEqual(expected.slice(from, from + limit));
  }
  for (const { wallet, rank } of expected) {
    expect(await readBurnRank(t.app.db, event.id, wallet)).toMatchObject({ rank, percentile: percentile(rank, expected.length) });
  }
  expect(await readBurnRank(t.app.db, event.id, banned[0] ?? '')).toMatchObject({ rank: null, percentile: null });
  await setBan('null');
  expect(await read(100, 0)).toEqual(before);
});
