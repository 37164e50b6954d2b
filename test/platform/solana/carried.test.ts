import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import { unavailable } from '#lib/errors.ts';
import { postponeCarried, signAndSend, type TransactionType } from '#platform/solana/submission/index.ts';
import { selectPending } from '#platform/solana/submission/rows.ts';
import { applyTransitions } from '#platform/solana/submission/transition.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import {
  killableApp,
  newPayment,
  receivedLamports,
  runUntil,
  submitPayments,
  type TestTransactionType,
  transferType,
} from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  t = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const LAMPORTS = 2_000_000;
/** Maximum transfers of one transaction. */
const CAPACITY = 4;

/** Returns a type that transfers lamports to its subject, and to further subjects that wait. */
function carryingType(name: string, candidates: readonly string[]): TestTransactionType {
  return {
    ...transferType(name),
    isGuarded: true,
    candidatesFor: async () => ({ subjects: candidates, limit: CAPACITY - 1 }),
    async compose(app, subject, carries = null) {
      const fromPubkey = app.chain.key('feePayer').publicKey;
      const subjects = [subject, ...(carries?.members.map((member) => member.subject) ?? [])];
      return {
        do: 'sign',
        feePayer: 'feePayer',
        instructions: subjects.map((one) =>
          SystemProgram.transfer({ fromPubkey, toPubkey: new PublicKey(one.split(':')[0] ?? ''), lamports: LAMPORTS }),
        ),
        spends: [{ asset: 'sol', amount: BigInt(LAMPORTS * subjects.length) }],
        ...(carries ? { carries } : {}),
      };
    },
  };
}

/** Submits payments of a new type. @returns the type, the subjects, and the ids of the transactions in the same order */
async function submitAll(name: string, count: number) {
  const subjects = Array.from({ length: count }, () => newPayment(LAMPORTS));
  const type = carryingType(name, subjects);
  await submitPayments(t.app, type, subjects);
  const rows = await sql<{ id: string; subject: string }>(t.app, 'select id::text, subject from chain_transactions where kind = $1', [name]);
  const ids = subjects.map((subject) => rows.find((row) => row.subject === subject)?.id ?? '');
  return { type, types: new Map([[name, type]]), subjects, ids };
}

const attemptsOf = (kind: string) =>
  sql<{ id: string; signature: string; state: string; carried: string[] }>(
    t.app,
    `select a.transaction_id::text as id, a.signature, a.state, a.carried::text[] as carried
     from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.kind = $1 order by a.signed_at`,
    [kind],
  );
/** Returns the ids of the transactions that the attempts of a kind make. @param without the state of attempts that do not count */
const effectsOf = async (kind: string, without?: string) =>
  (await attemptsOf(kind)).flatMap(({ id, state, carried }) => (state === without ? [] : [id, ...carried]));
const rowsOf = (kind: string) =>
  sql<{ id: string; state: string; signature: string | null; due: boolean; error: { name: string } | null }>(
    t.app,
    'select id::text, state, signature, next_at <= app_now() as due, error from chain_transactions where kind = $1',
    [kind],
  );
const pendingOf = async (kind: string) => (await t.app.db.query(selectPending, [100, 'payouts', null])).filter(({ type }) => type === kind);

test('a transaction that carries others is one attempt, and all of them are finalized with its signature', async () => {
  const { type, types, subjects, ids } = await submitAll('carries three', 4);
  await signAndSend(t.app, types, ids[0] ?? '');
  // The job of a carried transaction finds that the transaction is leased.
  await signAndSend(t.app, types, ids[1] ?? '');
  const attempts = await attemptsOf(type.name);
  expect(attempts).toEqual([{ id: ids[0], signature: expect.any(String), state: 'sent', carried: expect.arrayContaining(ids.slice(1)) }]);
  expect((await rowsOf(type.name)).filter(({ error }) => error?.name === 'Carried')).toHaveLength(3);
  await runUntil(t.app, type, subjects);
  const { signature } = attempts[0] ?? {};
  expect((await rowsOf(type.name)).map((row) => [row.state, row.signature])).toEqual(ids.map(() => ['finalized', signature]));
  expect(type.hookCalls.finalized.map((landed) => landed.subject).sort()).toEqual([...subjects].sort());
  expect(type.hookCalls.finalized.map((landed) => landed.signature)).toEqual(subjects.map(() => signature));
  expect(await attemptsOf(type.name)).toHaveLength(1);
});

test('a transaction that waits alone is signed at once and carries nothing', async () => {
  const { type, types, ids } = await submitAll('alone', 1);
  await signAndSend(t.app, types, ids[0] ?? '');
  expect((await attemptsOf(type.name)).map(({ carried }) => carried)).toEqual([[]]);
});

test('transactions that many workers sign at the same time are each in exactly one attempt', async () => {
  const { type, types, subjects, ids } = await submitAll('many workers', 18);
  await Promise.all(ids.map((id) => signAndSend(t.app, types, id)));
  const signed = await effectsOf(type.name);
  expect(signed).toHaveLength(new Set(signed).size);
  await runUntil(t.app, type, subjects, ['finalized'], 40_000);
  // On a slow machine an attempt may expire. Its transactions are then signed again.
  const effects = await effectsOf(type.name, 'dead');
  expect(effects.sort()).toEqual([...ids].sort());
  expect(await Promise.all(subjects.map((subject) => receivedLamports(t.app, subject)))).toEqual(subjects.map(() => LAMPORTS));
}, 90_000);

test('when the attempt expires, the transactions that it carried are due at once', async () => {
  const fault = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  const { type, types, ids } = await submitAll('expires', 3);
  await signAndSend(t.app, types, ids[0] ?? '');
  expect((await rowsOf(type.name)).filter(({ state, due }) => state === 'queued' && !due)).toHaveLength(2);
  const [attempt] = await pendingOf(type.name);
  if (!attempt) throw new Error('there is no pending attempt');
  await applyTransitions(t.app, types, [{ attempt, to: 'dead', slot: null, error: null }]);
  await fault.clear();
  expect(await rowsOf(type.name)).toEqual(ids.map(() => expect.objectContaining({ state: 'queued', due: true, error: null })));
});

/** Signs a transaction. While it is composed, the lease of a transaction ends and another worker leases that one. */
async function signWhileLeaseEnds({ type, ids }: Awaited<ReturnType<typeof submitAll>>, signed: string, ended: string): Promise<void> {
  const slow: TransactionType = {
    ...type,
    async compose(app, subject, claimed) {
      const draft = await type.compose(app, subject, claimed);
      await sql(t.app, `update chain_transactions set next_at = app_now() + interval '1 minute' where id = $1`, [ended]);
      return draft;
    },
  };
  await signAndSend(t.app, new Map([[slow.name, slow]]), signed);
  expect(await attemptsOf(slow.name)).toEqual([]);
  // The other transactions that this worker had leased are due.
  const due = (await rowsOf(slow.name)).filter((row) => row.due).map(({ id }) => id);
  expect(due.sort()).toEqual(ids.filter((id) => id !== signed && id !== ended).sort());
}

test('a worker whose lease has ended signs nothing, so that a transaction is not signed twice', async () => {
  const submitted = await submitAll('lease ended', 3);
  const [signed = ''] = submitted.ids;
  await signWhileLeaseEnds(submitted, signed, signed);
});

test('an attempt is not stored when the lease of a transaction that it carries has ended', async () => {
  const submitted = await submitAll('lease of a carried one', 3);
  const [signed = '', carried = ''] = submitted.ids;
  await signWhileLeaseEnds(submitted, signed, carried);
  const [carrier] = (await rowsOf(submitted.type.name)).filter(({ id }) => id === signed);
  expect(carrier).toMatchObject({ state: 'queued', error: { name: 'Unavailable' } });
});

test('while the candidates cannot be read, a transaction is postponed like one that cannot be composed', async () => {
  const { type, ids } = await submitAll('unreadable', 2);
  const failing: TransactionType = {
    ...type,
    candidatesFor: async () => {
      throw unavailable('the RPC node does not answer', 1);
    },
  };
  await signAndSend(t.app, new Map([[failing.name, failing]]), ids[0] ?? '');
  const rows = await rowsOf(type.name);
  expect(rows.find(({ id }) => id === ids[0])).toMatchObject({ state: 'queued', due: false, error: { name: 'Unavailable' } });
  expect(rows.find(({ id }) => id === ids[1])).toMatchObject({ state: 'queued', due: true, error: null });
});

test('a worker that is killed at any operation while it signs loses no carried transaction and signs none twice', async () => {
  const kill = async (at: number, when: 'before' | 'after'): Promise<boolean> => {
    const { type, types, subjects, ids } = await submitAll(`killed ${when} ${at}`, 3);
    const victim = killableApp(t.app, at, when);
    await signAndSend(victim.app, types, ids[0] ?? '').catch(() => undefined);
    // Without an attempt, the leases end; an attempt that is stored is sent by the next poll.
    if ((await attemptsOf(type.name)).length === 0) {
      await sql(t.app, `update chain_transactions set next_at = app_now() where kind = $1`, [type.name]);
    }
    await runUntil(t.app, type, subjects, ['finalized'], 20_000);
    // On a slow machine an attempt may expire. Its transactions are then signed again.
    const effects = await effectsOf(type.name, 'dead');
    expect(effects.sort()).toEqual([...ids].sort());
    expect(await Promise.all(subjects.map((subject) => receivedLamports(t.app, subject)))).toEqual(subjects.map(() => LAMPORTS));
    return victim.operations >= at;
  };
  let at = 1;
  while ((await Promise.all([kill(at, 'before'), kill(at, 'after')])).every((isKilled) => isKilled)) at++;
  expect(at).toBeGreaterThan(10);
}, 120_000);

test('a carried transaction that the chain refuses waits and is signed alone later, and the others are due at once', async () => {
  const { type, ids, subjects } = await submitAll('refused', 3);
  const [first = '', refused = '', last = ''] = ids;
  const failing: TransactionType = {
    ...type,
    async simulationFailed(app, _subject, error, { carries }) {
      const member = carries?.members[(error.instruction ?? 0) - 1];
      if (!carries || !member) throw new Error('the error names no carried transaction');
      await postponeCarried(app, carries, member.id, 60_000, error.message);
      return { do: 'wait', ms: 0, reason: 'one was left out' };
    },
    async compose(app, subject, claimed) {
      const draft = await type.compose(app, subject, claimed);
      if (draft.do !== 'sign') return draft;
      // The transfer to the refused subject needs more lamports than the payer has.
      const at = draft.carries?.members.findIndex(({ id }) => id === refused) ?? -1;
      const toPubkey = new PublicKey(subjects[1]?.split(':')[0] ?? '');
      const tooMuch = SystemProgram.transfer({ fromPubkey: app.chain.key('feePayer').publicKey, toPubkey, lamports: 10n ** 17n });
      return { ...draft, instructions: draft.instructions.map((one, i) => (at >= 0 && i === at + 1 ? tooMuch : one)) };
    },
  };
  const types = new Map([[failing.name, failing]]);
  await signAndSend(t.app, types, first);
  expect(await attemptsOf(failing.name)).toEqual([]);
  expect(Object.fromEntries((await rowsOf(failing.name)).map(({ id, due, error }) => [id, [due, error?.name]]))).toEqual({
    [first]: [true, 'Waiting'],
    [refused]: [false, 'Refused'],
    [last]: [true, undefined],
  });
  await signAndSend(t.app, types, first);
  expect((await attemptsOf(failing.name)).map(({ carried }) => carried)).toEqual([[last]]);
  await sql(t.app, 'update chain_transactions set next_at = app_now() where id = $1', [refused]);
  const alone = carryingType(failing.name, subjects);
  await signAndSend(t.app, new Map([[alone.name, alone]]), refused);
  expect((await attemptsOf(failing.name)).at(-1)).toMatchObject({ id: refused, carried: [] });
});
