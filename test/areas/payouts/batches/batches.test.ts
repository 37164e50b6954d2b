import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { paymentId } from '#areas/payouts';
import {
  type BatchMember,
  type BatchTerms,
  batchInstructions,
  fits,
  hashOfMembers,
  memberOfInstruction,
  packMembers,
  publishedMember,
} from '#areas/payouts/batches/members.ts';
import { findMemberOrder } from '#areas/payouts/lanes/unmatched-transactions.ts';
import { membersHash } from '#lib/draw/payout.ts';
import { laneAddress, laneSeed } from '#platform/solana/nonce-lanes.ts';
import { newSigner, parseAddress } from '#platform/solana/primitives.ts';
import { advanceNonceInstruction } from '#platform/solana/system-program.ts';
import { addressWithSeed, sizeOf } from '#test/support/solana/chain.ts';

const key = () => newSigner().publicKey.toBase58();
const terms: BatchTerms = { id: randomUUID(), address: key(), feePayer: key(), treasury: key(), mint: key(), decimals: 6 };
const member = (opens: boolean): BatchMember => ({ payment: randomUUID(), wallet: key(), amount: 5n, opens, cause: { kind: 'test', id: 'one' } });
const members = (...opens: boolean[]) => opens.map(member);

test('the id of a payment depends on its cause only and is a UUID of version 8', () => {
  const cause = { kind: 'prize', id: 'round-1:1' };
  expect(paymentId(cause)).toBe(paymentId({ ...cause }));
  expect(paymentId(cause)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const others = [
    { kind: 'prize', id: 'round-1:2' },
    { kind: 'refund', id: 'round-1:1' },
  ].map(paymentId);
  expect(new Set([paymentId(cause), ...others]).size).toBe(3);
});

test('a batch has as many members as fit into one transaction, and fewer when it opens token accounts', () => {
  const [open, closed] = [members(...Array.from({ length: 24 }, () => false)), members(...Array.from({ length: 24 }, () => true))];
  const [many, few] = [packMembers(terms, open), packMembers(terms, closed)];
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

test('a packed batch with its nonce instruction fits into a packet of 1,232 bytes', () => {
  const all = packMembers(terms, members(...Array.from({ length: 24 }, () => false)));
  const payer = parseAddress(terms.feePayer);
  const advance = advanceNonceInstruction(parseAddress(terms.address), payer);
  expect(sizeOf(payer, [advance, ...batchInstructions(terms, all)])).toBeLessThanOrEqual(1_232);
});

test('memberOfInstruction maps each instruction of a batch to its member', () => {
  const all = members(true, false, true);
  expect(batchInstructions(terms, all).length).toBe(6);
  const named = [-1, 0, 1, 2, 3, 4, 5, 6].map((i) => {
    const found = memberOfInstruction(all, i);
    return found && [all.indexOf(found.member), found.what];
  });
  expect(named).toEqual([null, null, [0, 'opening'], [0, 'transfer'], [1, 'transfer'], [2, 'opening'], [2, 'transfer'], null]);
  expect(memberOfInstruction(all, null)).toBeNull();
});

test('the members of a batch name the round and the place of a prize, and nothing for another payment', () => {
  const [prize, other] = members(false, true) as [BatchMember, BatchMember];
  const round = randomUUID();
  const won = { ...prize, cause: { kind: 'prize', id: `${round}:3` } };
  const published = [won, other].map(({ payment, ...one }) => publishedMember({ id: payment, ...one }, terms.mint));
  expect(published).toEqual([
    { paymentId: prize.payment, round, place: 3, wallet: prize.wallet, amount: '5', mint: terms.mint },
    { paymentId: other.payment, round: null, place: null, wallet: other.wallet, amount: '5', mint: terms.mint },
  ]);
  expect(hashOfMembers(terms, [won, other])).toBe(membersHash(published));
});

const payment = () => publishedMember({ id: randomUUID(), wallet: key(), amount: 5n, cause: { kind: 'test', id: 'one' } }, terms.mint);

test('the payments of a transaction are found by the hash of their order', () => {
  const [a, b, c] = [payment(), payment(), payment()];
  // Two equal payments of one wallet: only the hash determines which of them was first.
  const choices = [[a, b], [c], [a, b]];
  expect(findMemberOrder(choices, membersHash([b, c, a]))).toEqual([b, c, a]);
  expect(findMemberOrder(choices, membersHash([a, c, b]))).toEqual([a, c, b]);
  expect(findMemberOrder(choices, membersHash([a, b, c]))).toBeNull();
  expect(findMemberOrder([[a], []], membersHash([a]))).toBeNull();
});

test('the search for an order stops after a maximum number of orders', () => {
  const payments = Array.from({ length: 12 }, payment);
  const start = performance.now();
  expect(
    findMemberOrder(
      payments.map(() => payments),
      '0'.repeat(64),
    ),
  ).toBeNull();
  // Trying all 12! orders would take hours.
  expect(performance.now() - start).toBeLessThan(30_000);
});

test('the address of a lane’s nonce account equals the address that the system program derives', async () => {
  const feePayer = newSigner().publicKey;
  expect(laneAddress(feePayer, 3)).toEqual(await addressWithSeed(feePayer, laneSeed(3)));
});
