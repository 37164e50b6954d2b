import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HttpError } from '#lib/errors.ts';
import { type App, AppStates } from '#platform/app.ts';
import { findDenied, keepAgreed } from '#platform/solana/submission/agreement.ts';
import { contradictionScope } from '#platform/solana/submission/pauses.ts';
import type { PendingAttempt } from '#platform/solana/submission/rows.ts';
import type { Transition } from '#platform/solana/submission/transition.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

type Commitment = 'processed' | 'confirmed' | 'finalized';
interface NodeState {
  /** Slot of the node when it answers. */
  readonly slot?: number;
  readonly firstBlock?: number;
  /** The status of each transaction in the whole history of the node; null when the node does not know the transaction. */
  readonly status?: { readonly slot: number; readonly err: string | null; readonly confirmationStatus: Commitment } | null;
  readonly fails?: boolean;
}

/** Returns an RPC node that finds a transaction only if its whole history is searched. */
const nodeWith = ({ slot = 1_000, firstBlock = 1, status = null, fails = false }: NodeState) => ({
  firstBlock: async () => firstBlock,
  statuses: async (signatures: readonly string[], { searchHistory }: { searchHistory: boolean }) => {
    if (signatures.length > 256) throw new Error('an RPC node accepts at most 256 signatures');
    if (fails) throw new HttpError(503, 'the RPC node does not answer');
    return { slot, statuses: signatures.map(() => (searchHistory ? status : null)) };
  },
});

/** Returns the application with other RPC nodes, and with its own state, because an RPC node that failed is not asked for some seconds. */
function appWith(first: NodeState, second: NodeState | null): App {
  const chain = Object.create(t.app.chain, { node: { value: nodeWith(first) }, second: { value: second && nodeWith(second) } });
  const states = new AppStates();
  return { ...t.app, chain, state: (slot) => states.get(t.app, slot) };
}

let types = 0;
const attemptWith = (state: PendingAttempt['state'] = 'sent') =>
  ({ signature: randomSignature(), type: `agreed-${types++}`, state }) as PendingAttempt;
const isPaused = async ({ type }: PendingAttempt) =>
  (await sql(t.app, 'select 1 from chain_pauses where scope = $1', [contradictionScope(type)])).length > 0;

const SLOT = 100;
/** A state change that the first RPC node states: the attempt landed in `SLOT` and is final. */
const landed = (attempt: PendingAttempt, to: 'finalized' | 'failed' = 'finalized') =>
  ({ attempt, to, slot: SLOT, error: to === 'failed' ? { name: 'Failed', message: 'it failed' } : null }) as Transition;
const final = (changes: Partial<NonNullable<NodeState['status']>> = {}) => ({
  status: { slot: SLOT, err: null, confirmationStatus: 'finalized' as const, ...changes },
});

/** Returns the resulting state of an attempt that the first RPC node states to be final, and whether its type is paused. */
async function resultOf(second: NodeState | null, to: 'finalized' | 'failed' = 'finalized', state: PendingAttempt['state'] = 'sent') {
  const attempt = attemptWith(state);
  const kept = await keepAgreed(appWith({}, second), [landed(attempt, to)]);
  return [kept.map((one) => one.to)[0] ?? 'waits', (await isPaused(attempt)) ? 'paused' : 'runs'];
}

test('a final result counts when both RPC nodes state the same slot and the same success or failure', async () => {
  expect(await resultOf(null)).toEqual(['finalized', 'runs']);
  expect(await resultOf(final())).toEqual(['finalized', 'runs']);
  expect(await resultOf(final({ err: 'an error' }), 'failed')).toEqual(['failed', 'runs']);
});

test('all final results that both RPC nodes state count, also when there are more than one request can ask for', async () => {
  const attempts = Array.from({ length: 300 }, () => attemptWith());
  const kept = await keepAgreed(
    appWith({}, final()),
    attempts.map((attempt) => landed(attempt)),
  );
  expect(kept.map(({ attempt, to }) => [attempt.signature, to])).toEqual(attempts.map(({ signature }) => [signature, 'finalized']));
});

test('a final success that the second RPC node does not state yet is only confirmed, and a final failure waits', async () => {
  for (const second of [final({ confirmationStatus: 'confirmed' }), { slot: SLOT + 32 }, { firstBlock: SLOT + 1 }, { fails: true }]) {
    expect({ second, result: await resultOf(second) }).toEqual({ second, result: ['confirmed', 'runs'] });
    expect(await resultOf(second, 'failed')).toEqual(['waits', 'runs']);
    // An attempt that is confirmed already does not change.
    expect(await resultOf(second, 'finalized', 'confirmed')).toEqual(['waits', 'runs']);
  }
});

test('a second RPC node that states another result, or still does not know the transaction 33 slots later, pauses its type', async () => {
  for (const second of [final({ slot: SLOT + 1 }), final({ err: 'an error' }), { slot: SLOT + 33 }, { slot: SLOT + 33, firstBlock: SLOT }])
    expect({ second, result: await resultOf(second) }).toEqual({ second, result: ['confirmed', 'paused'] });
  expect(await resultOf(final(), 'failed')).toEqual(['waits', 'paused']);
});

test('state changes that are not final need no statement of the second RPC node', async () => {
  const [early, late] = [attemptWith(), attemptWith()];
  const changes = [{ ...landed(early), to: 'confirmed' as const }, landed(late)];
  const kept = await keepAgreed(appWith({}, { fails: true }), changes as Transition[]);
  expect(kept.map(({ attempt, to }) => [attempt, to])).toEqual([
    [early, 'confirmed'],
    [late, 'confirmed'],
  ]);
});

test('a type is paused when the second RPC node states a final result that the first one has not known for more than 32 slots', async () => {
  const deny = async (first: NodeState, second: NodeState | null, at: number) => {
    const attempt = attemptWith();
    await findDenied(appWith(first, second), [{ attempt, status: null, at }]);
    return await isPaused(attempt);
  };
  expect(await deny({}, final(), SLOT + 33)).toBe(true);
  expect(await deny({}, final({ err: 'an error' }), SLOT + 33)).toBe(true);
  expect(await deny({}, final(), SLOT + 32)).toBe(false);
  expect(await deny({ firstBlock: SLOT + 1 }, final(), SLOT + 33)).toBe(false);
  expect(await deny({}, final({ confirmationStatus: 'confirmed' }), SLOT + 33)).toBe(false);
  expect(await deny({}, {}, SLOT + 33)).toBe(false);
  expect(await deny({}, null, SLOT + 33)).toBe(false);
  expect(await deny({}, { fails: true }, SLOT + 33)).toBe(false);
});
