import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { App } from '#platform/app.ts';
import { checkBlockhashExpiries, checkNonceExpiry } from '#platform/solana/submission/expiry-proof.ts';
import type { PendingAttempt } from '#platform/solana/submission/rows.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';

let t: TestApp;
let depth: number;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  depth = t.app.config.chain.submission.depthBlocks;
});
afterAll(() => t.close());

interface NodeState {
  readonly height?: number;
  readonly finalizedSlot?: number;
  /** Slot of the node when it answers a request for statuses. */
  readonly slot?: number;
  readonly firstBlock?: number;
  /** Signatures that the node finds in its whole history. */
  readonly known?: readonly string[];
  /** Value and slot of the nonce account. */
  readonly nonce?: { readonly slot: number; readonly value: string | null };
}

/** Returns an RPC node that knows transactions only if its whole history is searched. Requests have at most 256 signatures. */
function nodeWith({ height = 0, finalizedSlot = 100, slot = 100, firstBlock = 1, known = [], nonce }: NodeState) {
  return {
    finalizedHeight: async () => ({ slot: finalizedSlot, height }),
    firstBlock: async () => firstBlock,
    nonce: async () => nonce,
    statuses: async (signatures: readonly string[], { searchHistory }: { searchHistory: boolean }) => {
      if (signatures.length > 256) throw new Error('an RPC node accepts at most 256 signatures');
      return { slot, statuses: signatures.map((signature) => (searchHistory && known.includes(signature) ? { slot: 50 } : null)) };
    },
  };
}

/** Returns the application with other RPC nodes. */
function appWith(node: NodeState, second: NodeState | null = null): App {
  const chain = Object.create(t.app.chain, { node: { value: nodeWith(node) }, second: { value: second && nodeWith(second) } });
  return { ...t.app, chain };
}

const attemptWith = (changes: Partial<PendingAttempt> = {}) =>
  ({ signature: randomSignature(), last_valid_height: 1_000, signed_slot: 40, nonce_account: null, nonce: null, ...changes }) as PendingAttempt;
/** A node that has passed the last valid block of the attempts by the required depth. */
const past = (): NodeState => ({ height: 1_001 + depth });

const check = async (attempts: readonly PendingAttempt[], node: NodeState, second: NodeState | null = null) =>
  (await checkBlockhashExpiries(appWith(node, second), attempts)).map(({ result }) => result);

test('an attempt with a blockhash is dead only after the chain is finalized beyond its last valid block by the required depth', async () => {
  const attempt = attemptWith();
  expect(await check([attempt], past())).toEqual(['dead']);
  expect(await check([attempt], { height: 1_000 + depth })).toEqual(['may-land']);
  expect(await check([attemptWith({ last_valid_height: null })], past())).toEqual(['may-land']);
  expect(await check([], past())).toEqual([]);
});

test('an attempt with a blockhash that an RPC node finds in its history may have landed', async () => {
  const [known, other] = [attemptWith(), attemptWith()];
  const node = { ...past(), known: [known.signature] };
  expect(await check([known, other], node)).toEqual(['may-land', 'dead']);
});

test('a missing status proves no expiry while the RPC node is behind the finalized slot or does not have the block of the signing', async () => {
  const attempt = attemptWith();
  expect(await check([attempt], { ...past(), slot: 99 })).toEqual(['may-land']);
  expect(await check([attempt], { ...past(), firstBlock: 41 })).toEqual(['unclear']);
  expect(await check([attempt], { ...past(), firstBlock: 40 })).toEqual(['dead']);
});

test('an attempt with a blockhash is dead only if the second RPC node agrees', async () => {
  const attempts = [attemptWith({ last_valid_height: null }), attemptWith(), attemptWith()];
  const second = { ...past(), known: [attempts[1]?.signature ?? ''] };
  expect(await check(attempts, past(), second)).toEqual(['may-land', 'unclear', 'dead']);
  expect(await check(attempts, past(), { height: 0 })).toEqual(['may-land', 'unclear', 'unclear']);
});

test('the statuses of more than 256 attempts are read with several requests, and each attempt gets its own', async () => {
  const attempts = Array.from({ length: 600 }, () => attemptWith());
  const known = [0, 255, 256, 599].map((i) => attempts[i]?.signature ?? '');
  const results = await check(attempts, { ...past(), known });
  expect(attempts.filter((_, i) => results[i] === 'may-land').map(({ signature }) => signature)).toEqual(known);
});

test('an attempt with a nonce is dead only if another transaction used the nonce and no RPC node finds the attempt in its history', async () => {
  const [account, nonce, usedBy] = [randomAddress(), randomAddress(), randomSignature()];
  const attempt = { ...attemptWith(), nonce_account: account, nonce };
  const advanced: NodeState = { nonce: { slot: 100, value: randomAddress() } };
  const resultOf = async (node: NodeState, second: NodeState | null = null, user: string | null = usedBy) => {
    // `checkNonceExpiry` uses no other part of a type.
    const type = { nonceUser: async () => user } as unknown as Parameters<typeof checkNonceExpiry>[1];
    return (await checkNonceExpiry(appWith(node, second), type, attempt)).result;
  };
  const known = [attempt.signature];
  expect(await resultOf(advanced)).toBe('dead');
  expect(await resultOf({ nonce: { slot: 100, value: null } })).toBe('dead');
  expect(await resultOf({ nonce: { slot: 100, value: nonce } })).toBe('may-land');
  expect(await resultOf({ ...advanced, known })).toBe('may-land');
  expect(await resultOf({ ...advanced, slot: 99 })).toBe('may-land');
  expect(await resultOf(advanced, null, null)).toBe('unclear');
  expect(await resultOf(advanced, null, attempt.signature)).toBe('unclear');
  expect(await resultOf(advanced, {})).toBe('dead');
  expect(await resultOf(advanced, { known })).toBe('unclear');
  expect(await resultOf(advanced, { slot: 99 })).toBe('unclear');
});
