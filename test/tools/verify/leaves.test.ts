import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { z } from 'zod';
import { allocate } from '#lib/allocation.ts';
import { buildTree, hashLeaves, rootOf as rootOfService } from '#lib/merkle.ts';
import { type AccountReader, epochAddress, readEpoch, vaultAddress } from '#packages/verify/src/epoch/chain.ts';
import { computeAmounts } from '#packages/verify/src/epoch/formula.ts';
import { parseLines, rootOf } from '#packages/verify/src/epoch/leaves.ts';
import { addressOf } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';

const Amount = z.string().transform(BigInt);
const Vectors = z.object({
  epoch: z.int(),
  leaves: z.array(z.object({ index: z.int(), wallet: z.string(), amount: z.string() })),
  root: z.string(),
  account: z.object({
    ...{ program: z.string(), authority: z.string(), mint: z.string(), address: z.string(), vault: z.string(), data: z.string() },
    ...{ state: z.string(), leaves: z.int(), epoch: z.int(), total: Amount, claimed: Amount, expiry: z.int(), root: z.string() },
    page: z.object({ address: z.string(), data: z.string(), marked: z.array(z.int()) }),
  }),
  allocations: z.array(
    z.object({
      ...{ pool: Amount, cap: Amount.nullable(), dust: Amount },
      wallets: z.array(z.object({ wallet: z.string(), points: z.int().transform(BigInt), amount: Amount })),
    }),
  ),
});
const vectors = Vectors.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/verification/epochs.json'), 'utf8')));

test('the root of the published leaves is that of the test vector', () => {
  const leaves = parseLines(vectors.leaves.map((leaf) => JSON.stringify({ ...leaf, points: 1 })));
  expect(rootOf(vectors.epoch, leaves, leaves.lines.length)).toBe(vectors.root);
  expect(rootOf(vectors.epoch, leaves, 0)).toBeNull();
});

test('the root of any number of leaves is the one that the service computes', () => {
  for (let count = 1; count <= 40; count++) {
    const wallets = Array.from({ length: count }, (_, i) => addressOf(`wallet ${i} of ${count}`));
    const leaves = parseLines(wallets.map((wallet, index) => JSON.stringify({ index, wallet, points: null, amount: String(index + 1) })));
    const hashes = new Uint8Array(32 * count);
    const keys = Buffer.concat(wallets.map((wallet) => bs58.decode(wallet)));
    hashLeaves(
      7,
      0,
      keys,
      BigUint64Array.from(wallets, (_, i) => BigInt(i + 1)),
      hashes,
    );
    expect(rootOf(7, leaves, count)).toBe(Buffer.from(rootOfService(buildTree(hashes))).toString('hex'));
  }
});

test('the amounts of the test vectors follow from their points', () => {
  for (const { wallets, ...rules } of vectors.allocations) expect(computeAmounts(rules, wallets)).toEqual(wallets.map(({ amount }) => amount));
});

test('the amounts of random epochs are those that the service computes, in any order of the wallets', () => {
  const { int, pick } = randomGenerator(41);
  for (let round = 0; round < 300; round++) {
    const addresses = Array.from({ length: int(1, 30) }, (_, i) => addressOf(`${i}`)).sort();
    const wallets = addresses.map((wallet) => ({ wallet, points: BigInt(int(-1, 4)) }));
    const rules = { pool: BigInt(int(0, 200)), cap: pick([null, BigInt(int(0, 60))]), dust: BigInt(int(0, 8)) };
    const points = BigInt64Array.from(wallets, (own) => own.points);
    const { amounts } = allocate(rules, points, (i) => wallets[i]?.wallet ?? '');
    expect([rules, computeAmounts(rules, wallets)]).toEqual([rules, [...amounts]]);
    expect([rules, computeAmounts(rules, wallets.toReversed())]).toEqual([rules, [...amounts].reverse()]);
  }
});

test('the account and the page of the test vector are read as an epoch with two paid leaves', async () => {
  const { account } = vectors;
  const { program, address, authority, mint } = account;
  expect(epochAddress(program, authority, mint, account.epoch)).toBe(address);
  expect(vaultAddress(address, mint)).toBe(account.vault);
  const data = new Map([account, account.page].map((one) => [one.address, Buffer.from(one.data, 'hex')]));
  const reader: AccountReader = async (addresses) =>
    addresses.map((one) => {
      const found = data.get(one);
      return found === undefined ? null : { owner: program, data: found };
    });
  const amounts = vectors.leaves.map(({ amount }) => BigInt(amount));
  const { epoch, paid } = await readEpoch(reader, program, { address, vault: account.vault }, amounts);
  const { state, leaves, expiry, root, vault } = account;
  expect(epoch).toMatchObject({ state, leaves, expiry, root, vault, epoch: BigInt(account.epoch), total: account.total, claimed: account.claimed });
  expect(paid).toEqual({ count: account.page.marked.length, sum: account.claimed });
});

const usual = { index: 0, wallet: addressOf('wallet'), points: 5, amount: '18446744073709551615' };

test('a line may have further fields and any order of its fields', () => {
  const reversed = Object.fromEntries(Object.entries({ ...usual, more: 1 }).reverse());
  for (const line of [usual, reversed]) expect(parseLines([JSON.stringify(line)]).lines).toEqual([{ ...usual, points: 5n, amount: 2n ** 64n - 1n }]);
});

test('an invalid line is refused with its number and the field', () => {
  const invalid: Readonly<Record<string, object>> = {
    index: { index: 0.5 },
    wallet: { wallet: '1111' },
    points: { points: '5' },
    amount: { amount: '18446744073709551616' },
  };
  for (const [field, change] of Object.entries(invalid)) {
    const text = JSON.stringify({ ...usual, ...change });
    expect(() => parseLines([JSON.stringify(usual), text])).toThrow(`line 3 of the leaves: ${field} is`);
  }
  expect(() => parseLines(['7'])).toThrow('line 2 of the leaves');
  expect(() => parseLines(['<html>'])).toThrow('line 2 of the leaves is not JSON');
});
