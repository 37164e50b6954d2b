import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { pollPending } from '#platform/solana/submission/index.ts';
import { markSent, selectBytes } from '#platform/solana/submission/rows.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { newPayment, submitPayments, transferType } from '#test/support/solana/submission.ts';

type Statuses = Awaited<ReturnType<TestApp['app']['chain']['node']['statuses']>>['statuses'];

/** Slot of the RPC node when it reports recent statuses. */
const RECENT = 1_000;
/** Slot of the RPC node when it has searched its history. */
const SEARCHED = 1_003;
const RESEND = 10;

let t: TestApp;
/** The requests for statuses, and the signatures that were sent, in order. */
const requests: { signatures: readonly string[]; searchHistory: boolean }[] = [];
const sent: string[] = [];
/** Statuses that the RPC node reports, by signature, recently or in its history. */
const recent = new Map<string, Statuses[number]>();
const history = new Map<string, Statuses[number]>();
const type = transferType('polled');
const types = new Map([[type.name, type]]);

beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: { LANDING_RESEND_SLOTS: String(RESEND), LANDING_RECHECK_MS: '600000', LANDING_GIVE_UP_MS: '60000' },
  });
  const { node } = t.app.chain;
  node.statuses = async (signatures, { searchHistory }) => {
    requests.push({ signatures: [...signatures].sort(), searchHistory });
    const known = searchHistory ? history : recent;
    return { slot: searchHistory ? SEARCHED : RECENT, statuses: signatures.map((signature) => known.get(signature) ?? null) };
  };
  node.send = async (bytes) => {
    sent.push(Buffer.from(bytes).toString());
    return '';
  };
});
/** Returns the given attempts whose expiry was checked. */
const checked = async (signatures: readonly string[]) =>
  (
    await sql<{ signature: string }>(
      t.app,
      'select signature from chain_attempts where signature = any($1::text[]) and looked_at is not null order by 1',
      [signatures],
    )
  ).map(({ signature }) => signature);
beforeEach(() => {
  for (const list of [requests, sent]) list.length = 0;
  for (const calls of Object.values(type.hookCalls)) calls.length = 0;
});
afterEach(async () => {
  recent.clear();
  history.clear();
  await sql(t.app, `update chain_attempts set state = 'dead' where state in ('signed', 'sent', 'confirmed')`);
});
afterAll(() => t.close());

interface Attempt {
  signedSlot?: number;
  sentSlot?: number | null;
  state?: 'signed' | 'sent' | 'confirmed';
  slot?: number | null;
}
/** Stores a pending attempt. Its bytes are its signature, and two instructions precede the instructions of its draft. */
async function storeAttempt(signature: string, { signedSlot = RECENT, sentSlot = null, state = 'sent', slot = null }: Attempt): Promise<void> {
  const subject = newPayment();
  await submitPayments(t.app, type, [subject]);
  const isConfirmed = state === 'confirmed';
  await sql(t.app, `update chain_transactions set state = $2, signature = $3, attempts = 1 where subject = $1`, [
    subject,
    isConfirmed ? 'confirmed' : 'live',
    isConfirmed ? signature : null,
  ]);
  await sql(
    t.app,
    `insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, signed_slot, sent_slot, slot, spends, spend_day, preamble)
     select id, 1, $2, $3, convert_to($3, 'UTF8'), '{}', 9999, $4, $5, $6, '[]', 0, 2 from chain_transactions where subject = $1`,
    [subject, state, signature, signedSlot, sentSlot, slot],
  );
}
const attempt = async (signature: string) =>
  (
    await sql<{ state: string; sent: number | null; slot: number | null }>(
      t.app,
      'select state, sent_slot::float8 as sent, slot::float8 as slot from chain_attempts where signature = $1',
      [signature],
    )
  )[0];
const finalized = { slot: 870, confirmations: null, err: null, confirmationStatus: 'finalized' } as const;

test('only attempts that are more than 140 slots old are searched in the history, and a status that is found there counts', async () => {
  await storeAttempt('old', { signedSlot: RECENT - 141 });
  await storeAttempt('recent', { signedSlot: RECENT - 140 });
  await storeAttempt('old but confirmed recently', { signedSlot: 100, state: 'confirmed', slot: RECENT - 140 });
  await storeAttempt('old and known', { signedSlot: 100 });
  recent.set('old and known', { ...finalized, slot: 101 });
  history.set('old', finalized);
  expect(await pollPending(t.app, types)).toBe(2);
  expect(requests).toEqual([
    { signatures: ['old', 'old and known', 'old but confirmed recently', 'recent'], searchHistory: false },
    { signatures: ['old'], searchHistory: true },
  ]);
  expect(await attempt('old')).toMatchObject({ state: 'finalized', slot: 870 });
  expect(await attempt('old and known')).toMatchObject({ state: 'finalized', slot: 101 });
  expect(type.hookCalls.finalized.map(({ signature }) => signature).sort()).toEqual(['old', 'old and known']);
});

test('a confirmed attempt without a status is retracted only if the node has passed its slot', async () => {
  await storeAttempt('on a fork', { state: 'confirmed', slot: RECENT - 1 });
  await storeAttempt('newer than the node', { state: 'confirmed', slot: RECENT });
  await pollPending(t.app, types);
  expect([(await attempt('on a fork'))?.state, (await attempt('newer than the node'))?.state]).toEqual(['sent', 'confirmed']);
  expect(type.hookCalls.retracted).toHaveLength(1);
});

test('while other attempts are pending, one of eight polls reads the confirmed attempts that cannot be finalized yet', async () => {
  const confirmed = { ...finalized, confirmationStatus: 'confirmed' } as const;
  await storeAttempt('not confirmed', { sentSlot: RECENT });
  for (const [signature, slot] of [['confirmed just now', RECENT - 20] as const, ['may be finalized', RECENT - 31] as const]) {
    await storeAttempt(signature, { state: 'confirmed', slot });
    recent.set(signature, { ...confirmed, slot });
  }
  for (let i = 0; i < 16; i++) expect(await pollPending(t.app, types)).toBeGreaterThan(0);
  const read = requests.flatMap(({ signatures }) => signatures);
  const times = (signature: string) => read.filter((one) => one === signature).length;
  expect(['not confirmed', 'may be finalized', 'confirmed just now'].map(times)).toEqual([16, 16, 2]);
});

test('a confirmed attempt that cannot be finalized yet is read in each poll while no other attempt is pending', async () => {
  await storeAttempt('alone', { state: 'confirmed', slot: RECENT });
  for (let i = 0; i < 5; i++) expect(await pollPending(t.app, types)).toBe(1);
  expect(requests).toHaveLength(5);
});

test('an attempt without a status is sent again after the configured number of slots, and a confirmed attempt is not', async () => {
  await storeAttempt('never sent', { state: 'signed' });
  await storeAttempt('sent long ago', { sentSlot: RECENT - RESEND });
  await storeAttempt('sent just now', { sentSlot: RECENT - RESEND + 1 });
  await storeAttempt('confirmed', { state: 'confirmed', slot: RECENT, sentSlot: 1 });
  await storeAttempt('landed', { sentSlot: 1 });
  recent.set('landed', { ...finalized, confirmationStatus: 'confirmed' });
  // A poll may leave out the confirmed attempt.
  expect(await pollPending(t.app, types)).toBeGreaterThanOrEqual(4);
  expect(sent.sort()).toEqual(['never sent', 'sent long ago']);
  expect(await attempt('never sent')).toEqual({ state: 'sent', sent: RECENT, slot: null });
  expect(await attempt('sent just now')).toMatchObject({ sent: RECENT - RESEND + 1 });
  expect(await attempt('landed')).toMatchObject({ state: 'confirmed', slot: 870 });
  // The next poll sends neither of them again, because the slots have not passed.
  sent.length = 0;
  await pollPending(t.app, types);
  expect(sent).toEqual([]);
});

test('attempts are found by their signatures, and not by a search of all pending attempts', async () => {
  // While few of many attempts are pending, PostgreSQL expects that reading the index of the pending ones costs little.
  await sql(
    t.app,
    `with many as (
       insert into chain_transactions (kind, subject, state) select 'polled', 'many ' || i, 'finalized' from generate_series(1, 2000) i returning id)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble)
     select id, 1, 'finalized', 'many ' || id, '', '{}', 9999, 1, '[]', 0, 2 from many`,
  );
  await sql(t.app, 'analyze chain_attempts');
  const signatures = Array.from({ length: 20 }, (_, i) => `signature ${i}`);
  const planOf = async (text: string, values: readonly unknown[]) =>
    (await sql<Record<'QUERY PLAN', string>>(t.app, `explain ${text}`, values)).map((row) => row['QUERY PLAN']).join('\n');
  for (const plan of [await planOf(selectBytes.text, [signatures]), await planOf(markSent.text, [signatures, RECENT])]) {
    expect(plan).toContain('chain_attempts_signature_key');
    expect(plan).not.toMatch(/chain_attempts_(?:live|pending)/);
  }
});

test('the newest slot that the node reported counts for sending again', async () => {
  await storeAttempt('searched', { signedSlot: 1, sentSlot: SEARCHED - RESEND });
  await storeAttempt('not searched', { sentSlot: SEARCHED - RESEND + 1 });
  await pollPending(t.app, types);
  expect(sent).toEqual(['searched']);
  expect(await attempt('searched')).toMatchObject({ sent: SEARCHED });
});

test('an attempt that failed on the chain fails with the error of its own instruction, and one that only looks failed stays pending', async () => {
  await storeAttempt('failed', {});
  await storeAttempt('failed but not finalized', {});
  await storeAttempt('without funds', {});
  const error = { InstructionError: [4, { Custom: 6 }] };
  recent.set('failed', { ...finalized, err: error });
  recent.set('failed but not finalized', { ...finalized, err: error, confirmationStatus: 'confirmed' });
  recent.set('without funds', { ...finalized, err: { InsufficientFundsForRent: { account_index: 1 } } });
  await pollPending(t.app, types);
  const stored = await sql<{ signature: string; state: string; error: unknown }>(
    t.app,
    `select signature, state, error from chain_attempts where signature = any($1::text[]) order by signature`,
    [['failed', 'failed but not finalized', 'without funds']],
  );
  expect(stored).toEqual([
    {
      signature: 'failed',
      state: 'failed',
      error: { name: 'Custom6', message: 'instruction 2 failed: program error 6', instruction: 2, code: 6 },
    },
    { signature: 'failed but not finalized', state: 'sent', error: null },
    {
      signature: 'without funds',
      state: 'failed',
      error: {
        name: 'InsufficientFundsForRent',
        message: 'the chain rejected the transaction: {"InsufficientFundsForRent":{"account_index":1}}',
        instruction: null,
        code: null,
      },
    },
  ]);
});

test('the expiry of an attempt with a nonce is checked when it is overdue, and that of another attempt only after the longer recheck time', async () => {
  const { node } = t.app.chain;
  node.finalizedHeight = async () => ({ slot: RECENT, height: 0 });
  node.nonce = async () => ({ slot: RECENT, value: 'a-nonce' });
  const ages = { 'nonce, overdue': 61, 'nonce, not overdue': 30, 'blockhash, as old': 61 };
  for (const [signature, seconds] of Object.entries(ages)) {
    await storeAttempt(signature, { sentSlot: RECENT });
    await sql(t.app, 'update chain_attempts set signed_at = app_now() - make_interval(secs => $2) where signature = $1', [signature, seconds]);
    if (signature.startsWith('nonce')) {
      await sql(t.app, `update chain_attempts set last_valid_height = null, nonce = 'a-nonce', nonce_account = $2 where signature = $1`, [
        signature,
        randomAddress(),
      ]);
    }
  }
  await pollPending(t.app, types);
  expect(await checked(Object.keys(ages))).toEqual(['nonce, overdue']);
  expect(type.hookCalls.overdue).toHaveLength(1);
});
