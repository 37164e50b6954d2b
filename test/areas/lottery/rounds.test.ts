import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { acceptEntries, lockActiveRound } from '#areas/lottery/entries.ts';
import { getRound } from '#areas/lottery/routes/rounds.ts';
import { newId } from '#lib/ids.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  addTickets,
  closeNow,
  endActive,
  enter,
  eventsOf,
  LONG_SEC,
  openLegacy,
  openRound,
  prizesOf,
  startRound,
  storedRound,
  verified,
} from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t?.close());
// Only one chat round can be active at a time, so each test starts without one.
beforeEach(() => endActive(t));

/** Reads a wallet's finalized balance of a currency, base units. */
async function balanceOf(wallet: string, currency: string): Promise<bigint> {
  const { usdcMint, rewardMint } = t.chain.keys;
  const account = associatedTokenAddress(parseAddress(wallet), (currency === 'usdc' ? usdcMint : rewardMint).publicKey);
  return decodeTokenAccount(await t.chain.connection.getAccountInfo(account, 'finalized'))?.amount ?? 0n;
}

test('a started round is closed, committed, drawn and paid without further requests', async () => {
  const { id } = await startRound(t);
  await enter(t, 5);
  await untilState(t, id, 'closing');
  await untilState(t, id, 'committed');
  const committed = (await clientOf(t).ok(getRound, { params: { id } })).body;
  expect(committed).toMatchObject({ status: 'committed', entries: 5, overdue: false, commitment: { slot: expect.any(Number) } });
  expect((await verified(t, id)).entries).toEqual({ count: 5, root: committed.entriesRoot, runningHash: committed.runningHash });
  await untilState(t, id, 'finalized');
  const audit = await verified(t, id);
  expect(audit.winners).toHaveLength(2);
  await retryUntilPass(async () => {
    for (const { place, wallet, prize } of audit.winners ?? []) {
      expect(await balanceOf(wallet, place === 1 ? 'reward' : 'usdc')).toBe(BigInt(prize.amount));
    }
  }, 30_000);
  expect(await prizesOf(t, id)).toMatchObject([
    { place: 1, currency: 'reward', amount: '3000000', wallet: audit.winners?.[0]?.wallet },
    { place: 2, currency: 'usdc', amount: '2000000', wallet: audit.winners?.[1]?.wallet },
  ]);
  expect(await eventsOf(t, id)).toEqual([
    'round_started',
    'round_closed',
    'round_committed',
    'round_finalized',
    'winner_announced',
    'winner_announced',
  ]);
});

test('a round without entries becomes void with the reason no-entries', async () => {
  const { id } = await startRound(t);
  await untilState(t, id, 'void');
  expect((await clientOf(t).ok(getRound, { params: { id } })).body).toMatchObject({ status: 'void', voidReason: 'no-entries' });
  expect((await verified(t, id)).void).toBe('no-entries');
  expect(await eventsOf(t, id)).toEqual(['round_started', 'round_void']);
});

test('every entry that was accepted before the freeze is in the round, and later entries are refused', async () => {
  const id = await openRound(t, 1);
  const one = () => {
    const entry = newId();
    return { id: entry, wallet: createWallet().address, numbers: null, source: 'chat', messageId: entry };
  };
  let accepted = 1;
  const entering = async () => {
    for (let i = 0; i < 10; i++) {
      const [answer] = await t.app.tx(async (tx) => await acceptEntries(t.app, tx, await lockActiveRound(tx), [one()]));
      if (answer && 'entry' in answer) accepted++;
      else return;
    }
  };
  await Promise.all([...Array.from({ length: 6 }, entering), closeNow(t, id)]);
  expect(await closeNow(t, id)).toBe(false);
  await expect(enter(t, 1)).rejects.toThrow('no round accepts entries now');
  await untilState(t, id, 'committed');
  expect((await verified(t, id)).entries.count).toBe(accepted);
  await expect(sql(t.app, 'update rounds set entries = entries + 1 where id = $1', [id])).rejects.toThrow('takes no entries');
});

test('a round with fewer winners than prizes pays only the prizes of its winners', async () => {
  const id = await openRound(t, 1);
  await closeNow(t, id);
  await untilState(t, id, 'finalized');
  expect((await verified(t, id)).winners).toHaveLength(1);
  expect(await prizesOf(t, id)).toMatchObject([{ place: 1, amount: '3000000' }]);
});

test('a round of 2,500 entries is evaluated in a worker thread and drawn correctly', async () => {
  const { id } = await startRound(t, { durationSec: LONG_SEC, picks: 5, range: 50 });
  const candidates = Array.from({ length: 2_500 }, () => {
    const entry = newId();
    return { id: entry, wallet: bs58.encode(randomBytes(32)), numbers: null, source: 'chat', messageId: entry };
  });
  await t.app.tx(async (tx) => await acceptEntries(t.app, tx, await lockActiveRound(tx), candidates));
  await closeNow(t, id);
  await untilState(t, id, 'finalized');
  const { winners } = await verified(t, id);
  expect(await sql(t.app, 'select place, index, wallet, matches from round_winners where round = $1 order by place', [id])).toEqual(
    winners?.map(({ place, index, wallet, matches }) => ({ place, index, wallet, matches })),
  );
});

/** Creates a legacy round with a number of tickets and closes it. */
async function closedLegacy(ticketPrice: string, tickets: number): Promise<string> {
  const id = await openLegacy(t, ticketPrice);
  await addTickets(t, id, tickets);
  await closeNow(t, id);
  return id;
}

test('a legacy round pays the sum of its ticket prices to one winner; a free round has a winner and no payment', async () => {
  const [paid, free] = [await closedLegacy('250', 3), await closedLegacy('0', 2)];
  await Promise.all([untilState(t, paid, 'finalized'), untilState(t, free, 'finalized')]);
  const [winner] = (await verified(t, paid)).winners ?? [];
  expect(await prizesOf(t, paid)).toMatchObject([{ place: 1, currency: 'usdc', amount: '750', wallet: winner?.wallet }]);
  expect((await verified(t, free)).winners).toMatchObject([{ place: 1, prize: { amount: '0' } }]);
  expect(await prizesOf(t, free)).toEqual([]);
  expect(await eventsOf(t, free)).toEqual(['round_closed', 'round_committed', 'round_finalized', 'winner_announced']);
  expect((await storedRound(t, free)).state).toBe('finalized');
});
