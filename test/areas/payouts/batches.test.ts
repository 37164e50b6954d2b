import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Keypair, PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { paymentId } from '#areas/payouts';
import {
  fits,
  instructionsOf,
  type Member,
  memberAt,
  membersHash,
  packed,
  payoutMemo,
  readPayoutMemo,
  type Terms,
} from '#areas/payouts/batches/members.ts';
import { laneAddress, laneSeed } from '#areas/payouts/lanes/account.ts';
import { inOrder } from '#areas/payouts/lanes/unmatched-transactions.ts';
import { choose, type Means } from '#areas/payouts/planning/choose.ts';
import type { Destination, Survey } from '#areas/payouts/planning/read-chain-state.ts';

const key = () => Keypair.generate().publicKey.toBase58();
const terms: Terms = { id: randomUUID(), address: key(), feePayer: key(), treasury: key(), mint: key(), decimals: 6 };
const member = (opens: boolean): Member => ({ payment: randomUUID(), wallet: key(), amount: 5n, opens });
const members = (...opens: boolean[]) => opens.map(member);

test('the id of a payment follows from its cause, and is a UUID of version 8', () => {
  const cause = { kind: 'prize', id: 'round-1:1' };
  expect(paymentId(cause)).toBe(paymentId({ ...cause }));
  expect(paymentId(cause)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const others = [
    { kind: 'prize', id: 'round-1:2' },
    { kind: 'refund', id: 'round-1:1' },
  ].map(paymentId);
  expect(new Set([paymentId(cause), ...others]).size).toBe(3);
});

test('a batch holds as many members as fit into one transaction, fewer where accounts are opened', () => {
  const [open, closed] = [members(...Array.from({ length: 24 }, () => false)), members(...Array.from({ length: 24 }, () => true))];
  const [many, few] = [packed(terms, open), packed(terms, closed)];
  expect(many.length).toBeGreaterThanOrEqual(10);
  expect(few.length).toBeGreaterThanOrEqual(6);
  expect(few.length).toBeLessThan(many.length);
  for (const [all, fitting] of [
    [open, many],
    [closed, few],
  ] as const) {
    expect(fits(terms, fitting)).toBe(true);
    expect(fits(terms, all.slice(0, fitting.length + 1))).toBe(false);
  }
});

test('what fits is no larger than a packet, with all that comes before it', () => {
  const all = packed(terms, members(...Array.from({ length: 24 }, () => false)));
  const payer = new PublicKey(terms.feePayer);
  const advance = SystemProgram.nonceAdvance({ noncePubkey: new PublicKey(terms.address), authorizedPubkey: payer });
  const message = new TransactionMessage({ payerKey: payer, recentBlockhash: key(), instructions: [advance, ...instructionsOf(terms, all)] });
  expect(1 + 2 * 64 + message.compileToLegacyMessage().serialize().length).toBeLessThanOrEqual(1_232);
});

test('an instruction names the member that it is about', () => {
  const all = members(true, false, true);
  expect(instructionsOf(terms, all).length).toBe(6);
  const named = [-1, 0, 1, 2, 3, 4, 5, 6].map((i) => {
    const found = memberAt(all, i);
    return found && [all.indexOf(found.member), found.what];
  });
  expect(named).toEqual([null, null, [0, 'opening'], [0, 'transfer'], [1, 'transfer'], [2, 'opening'], [2, 'transfer'], null]);
  expect(memberAt(all, null)).toBeNull();
});

test('a memo says which batch it is and whom it pays, and nothing else reads as one', () => {
  const hash = membersHash([randomUUID(), randomUUID()]);
  expect(hash).toMatch(/^[0-9a-f]{32}$/);
  expect(readPayoutMemo(payoutMemo(terms.id, hash))).toEqual({ batch: terms.id, hash });
  for (const text of ['', 'coinop:payout:', `coinop:payout:${terms.id}:${hash} `, `x coinop:payout:${terms.id}:${hash}`, `coinop:advance:0`]) {
    expect(readPayoutMemo(text)).toBeNull();
  }
});

test('the payments behind a transaction are found by the hash of their order', () => {
  const [a = '', b = '', c = ''] = Array.from({ length: 3 }, () => randomUUID());
  // Two equal debts of one wallet: only the hash tells which of them was paid first.
  const choices = [[a, b], [c], [a, b]];
  expect(inOrder(choices, membersHash([b, c, a]))).toEqual([b, c, a]);
  expect(inOrder(choices, membersHash([a, c, b]))).toEqual([a, c, b]);
  expect(inOrder(choices, membersHash([a, b, c]))).toBeNull();
  expect(inOrder([[a], []], membersHash([a]))).toBeNull();
});

test('orders without end are not searched without end', () => {
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const start = performance.now();
  expect(
    inOrder(
      ids.map(() => ids),
      '0'.repeat(32),
    ),
  ).toBeNull();
  // All 12! would take hours.
  expect(performance.now() - start).toBeLessThan(30_000);
});

test('a lane’s account is where the system program derives it', async () => {
  const feePayer = Keypair.generate().publicKey;
  expect(laneAddress(feePayer, 3)).toEqual(await PublicKey.createWithSeed(feePayer, laneSeed(3), SystemProgram.programId));
});

const chain = (destinations: [string, Destination][]): Survey => ({
  nonce: key(),
  decimals: 6,
  funds: 0n,
  rent: 100n,
  destinations: new Map(destinations),
});
const means: Means = { funds: 1_000n, limit: 1_000n, budget: 1_000n };
const candidate = (wallet: string, amount: bigint) => ({ id: randomUUID(), wallet, amount, giveUps: 0 });

test('who cannot be paid now keeps nobody else waiting', () => {
  const wallets = Array.from({ length: 4 }, key);
  const all = [700n, 400n, 250n, 100n].map((amount, i) => candidate(wallets[i] ?? '', amount));
  const { members: chosen, delayed } = choose(all, chain(wallets.map((wallet) => [wallet, 'ready'])), means, new Map());
  expect(chosen.map(({ amount }) => amount)).toEqual([700n, 250n]);
  expect([...delayed].map(([{ reason }, ids]) => [reason, ids])).toEqual([['waits until the treasury holds enough', [all[1]?.id, all[3]?.id]]]);
});

test('a wallet’s account is opened by the first of its payments, within the budget', () => {
  const [a, b] = [key(), key()];
  const all = [candidate(a, 1n), candidate(a, 2n), candidate(b, 3n)];
  const both = chain([
    [a, 'missing'],
    [b, 'missing'],
  ]);
  expect(choose(all, both, means, new Map()).members.map(({ opens }) => opens)).toEqual([true, false, true]);
  const tight = choose(all, both, { ...means, budget: 150n }, new Map());
  expect(tight.members.map(({ wallet }) => wallet)).toEqual([a, a]);
  expect([...tight.delayed.keys()].map(({ reason }) => reason)).toEqual(['waits for the next day: the budget for token accounts is spent']);
});

test('an account that another batch is opening is waited for; one that was opened before is not opened again', () => {
  const [a, b] = [key(), key()];
  const both = chain([
    [a, 'missing'],
    [b, 'missing'],
  ]);
  const { members: chosen, delayed } = choose(
    [candidate(a, 1n), candidate(b, 1n)],
    both,
    means,
    new Map([
      [a, false],
      [b, true],
    ]),
  );
  expect(chosen).toEqual([]);
  expect([...delayed.keys()].map(({ reason }) => reason)).toEqual([
    'waits for its token account, which is being opened',
    'waits until the wallet opens its token account: we opened it once, and it was closed',
  ]);
});
