import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { chooseMembers, type Limits } from '#areas/payouts/planning/choose.ts';
import type { ChainState, Destination } from '#areas/payouts/planning/read-chain-state.ts';
import { newSigner } from '#platform/solana/primitives.ts';

const key = () => newSigner().publicKey.toBase58();

const chain = (destinations: [string, Destination][]): ChainState => ({
  nonce: key(),
  decimals: 6,
  funds: 0n,
  rent: 100n,
  destinations: new Map(destinations),
});
const limits: Limits = { funds: 1_000n, dailyLimit: 1_000n, rentBudget: 1_000n };
const candidate = (wallet: string, amount: bigint) => ({ id: randomUUID(), wallet, amount, giveUps: 0, cause: { kind: 'test', id: 'one' } });

test('a payment that exceeds the treasury balance does not delay the other payments', () => {
  const wallets = Array.from({ length: 4 }, key);
  const all = [700n, 400n, 250n, 100n].map((amount, i) => candidate(wallets[i] ?? '', amount));
  const { members: chosen, delayed } = chooseMembers(all, chain(wallets.map((wallet) => [wallet, 'ready'])), limits, new Map());
  expect(chosen.map(({ amount }) => amount)).toEqual([700n, 250n]);
  expect([...delayed].map(([{ reason }, ids]) => [reason, ids])).toEqual([['waits until the treasury holds enough', [all[1]?.id, all[3]?.id]]]);
});

test('only the first payment of a wallet opens its token account, within the daily budget', () => {
  const [a, b] = [key(), key()];
  const all = [candidate(a, 1n), candidate(a, 2n), candidate(b, 3n)];
  const both = chain([
    [a, 'missing'],
    [b, 'missing'],
  ]);
  expect(chooseMembers(all, both, limits, new Map()).members.map(({ opens }) => opens)).toEqual([true, false, true]);
  const tight = chooseMembers(all, both, { ...limits, rentBudget: 150n }, new Map());
  expect(tight.members.map(({ wallet }) => wallet)).toEqual([a, a]);
  expect([...tight.delayed.keys()].map(({ reason }) => reason)).toEqual(['waits for the next day: the daily budget for token accounts is spent']);
});

test('a payment waits for a token account that another batch opens, and an account that was opened before is not opened again', () => {
  const [a, b] = [key(), key()];
  const both = chain([
    [a, 'missing'],
    [b, 'missing'],
  ]);
  const { members: chosen, delayed } = chooseMembers(
    [candidate(a, 1n), candidate(b, 1n)],
    both,
    limits,
    new Map([
      [a, false],
      [b, true],
    ]),
  );
  expect(chosen).toEqual([]);
  expect([...delayed.keys()].map(({ reason }) => reason)).toEqual([
    'waits until another transaction has opened the token account of the wallet',
    'waits until the wallet opens its token account: we opened the account once, and the wallet closed it',
  ]);
});
