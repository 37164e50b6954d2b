import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { openRound, randomSignature, requestTicket } from '#test/support/areas/tickets.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  const env = { LEGACY_ROUNDS_UNFINISHED: '3', LEGACY_ROUNDS_PER_WALLET: '4', LEGACY_ROUNDS_PER_DAY: '10' };
  t = await startRoundsTest({ workers: false, env });
});
afterAll(() => t?.close());

const open = (by: SignedIn, ticketPrice = '1') => by.fetch('/round', { json: { ticketPrice } });
const refusal = async (answer: Response): Promise<[number, string]> => [answer.status, ((await answer.json()) as { error: string }).error];
/** Ends the rounds of a wallet as if they were void. */
const end = (by: SignedIn) =>
  sql(
    t.app,
    `update rounds set state = 'void', void_reason = 'no-entries', closed = '{}', closed_at = app_now(), ended_at = app_now()
     where created_by = $1 and state = 'active'`,
    [by.wallet],
  );

test('a wallet has at most three rounds that are not drawn, and opens at most four a day, ended ones included, also with concurrent requests', async () => {
  const by = await signIn(t);
  const answers = await Promise.all(Array.from({ length: 8 }, () => open(by)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
  expect(await refusal(await open(by))).toEqual([409, 'a wallet can have at most 3 rounds that are not drawn yet']);
  await end(by);
  expect((await open(by)).status).toBe(201);
  await end(by);
  const full = await open(by);
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refusal(full)).toEqual([429, 'a wallet can open at most 4 rounds per UTC day']);
});

test('at most fifty tickets of a wallet are being checked, also with seventy concurrent requests', async () => {
  const [by, buyer, other] = await Promise.all([signIn(t), signIn(t), signIn(t)]);
  const round = await openRound(t, by);
  const ask = (who: SignedIn) => requestTicket(who, round, randomSignature(), { Prefer: 'respond-async' });
  const answers = await Promise.all(Array.from({ length: 70 }, () => ask(buyer)));
  expect(Map.groupBy(answers, ({ status }) => status).get(202)).toHaveLength(50);
  const refused = answers.filter(({ status }) => status === 429);
  expect(new Set(refused.map(({ headers }) => headers.get('Retry-After')))).toEqual(new Set(['15']));
  expect([refused.length, (await ask(other)).status]).toEqual([20, 202]);
});

test('a request for a ticket whose transaction was not found counts as one of the fifty tickets that are being checked', async () => {
  const [by, buyer] = await Promise.all([signIn(t), signIn(t)]);
  const round = await openRound(t, by);
  const ask = (signature: string) => requestTicket(buyer, round, signature, { Prefer: 'respond-async' });
  const old = randomSignature();
  expect((await ask(old)).status).toBe(202);
  await sql(t.app, `update tickets set state = 'refused', reason = 'not found', found = false, decided_at = app_now() where signature = $1`, [old]);
  const others = await Promise.all(Array.from({ length: 50 }, () => ask(randomSignature())));
  expect(others.filter(({ status }) => status === 202)).toHaveLength(50);
  expect((await ask(old)).status).toBe(429);
});

test('all wallets together open at most ten rounds a day, and on the next day more', async () => {
  for (let i = 0; i < 4; i++) expect((await open(await signIn(t))).status).toBe(201);
  const by = await signIn(t);
  expect(await refusal(await open(by))).toEqual([429, 'all wallets together can open at most 10 rounds per UTC day']);
  await t.clock.set(new Date(Date.now() + 86_400_000));
  expect((await open(by)).status).toBe(201);
});

test('an operator can switch off rounds of free tickets, or all rounds of wallets', async () => {
  for (const [LEGACY_ROUNDS, price, error] of [
    ['paid', '0', 'ticketPrice must not be 0, because rounds of free tickets are switched off'],
    ['off', '1', 'rounds of wallets are switched off'],
  ] as const) {
    const other = await startRoundsTest({ workers: false, chain: t.chain, env: { LEGACY_ROUNDS } });
    try {
      const by = await signIn(other);
      expect(await refusal(await open(by, price))).toEqual([403, error]);
      expect((await open(by, '1')).status).toBe(LEGACY_ROUNDS === 'paid' ? 201 : 403);
    } finally {
      await other.close();
    }
  }
});
