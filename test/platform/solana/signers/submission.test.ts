import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { statement } from '#platform/db/sql.ts';
import { PREFIX_OF, type Role } from '#platform/solana/signers/index.ts';
import type { TransactionType } from '#platform/solana/submission/index.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { FAST_PAYOUTS } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { type SignerReply, type SignerServer, startSignerServer, withoutKeys } from '#test/support/solana/signers.ts';
import {
  killableApp,
  newPayment,
  receivedLamports,
  runOnce,
  runUntil,
  statesOf,
  submitPayments,
  transferType,
} from '#test/support/solana/submission.ts';

/** Fee payer and treasury are held by signers, the other keys by the process. */
const HELD: readonly Role[] = ['feePayer', 'treasury'];
const AMOUNT = 2_000_000;

let chain: TestChain;
let feePayer: SignerServer;
let treasury: SignerServer;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const stranger = await chain.fundWallet();
  feePayer = await startSignerServer(chain.keys.feePayer, stranger);
  treasury = await startSignerServer(chain.keys.treasury, stranger);
  const signers = { [`${PREFIX_OF.feePayer}_SIGNER`]: feePayer.url, [`${PREFIX_OF.treasury}_SIGNER`]: treasury.url };
  t = await startTestApp({ workers: false, env: { ...withoutKeys(chain, HELD), ...FAST_PAYOUTS, ...signers } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await Promise.all([feePayer?.close(), treasury?.close()]);
  await chain?.close();
});
afterEach(() => {
  feePayer.setReply('signs');
  treasury.setReply('signs');
});

const selectAttempts = statement<{ n: number }>(
  'test_signer_attempts',
  'select count(*)::int as n from chain_attempts a join chain_transactions c on c.id = a.transaction_id where c.subject = any($1::text[])',
);
const attemptsOf = async (subjects: readonly string[]) => (await t.app.db.query(selectAttempts, [subjects]))[0]?.n;
const selectErrors = statement<{ error: { name: string; message: string } | null; state: string }>(
  'test_signer_errors',
  'select error, state from chain_transactions where subject = $1',
);
const errorOf = async (subject: string) => (await t.app.db.query(selectErrors, [subject]))[0];
const makeDue = statement(
  'test_signer_due',
  `update chain_transactions set next_at = app_now() where subject = any($1::text[]) and state = 'queued'`,
);

/** Creates a type of transfers that the treasury signs too. */
function treasuryType(name: string): TransactionType {
  const type = transferType(name);
  const compose: TransactionType['compose'] = async (app, subject) => {
    const composed = await type.compose(app, subject);
    const { treasury: from, feePayer: to } = chain.keys;
    const signed = transferLamports(from.publicKey, to.publicKey, 0n);
    return composed.do === 'sign' ? { ...composed, signers: ['treasury'], instructions: [...composed.instructions, signed] } : composed;
  };
  return { ...type, compose };
}

test.each<[SignerReply, string]>([
  ['other-key', 'is not a signature of'],
  ['garbage', 'the answer must be'],
  ['too-long', 'longer than 4096 bytes'],
  ['refuses', 'status 403'],
  ['drops', 'the request failed'],
  ['hangs', 'no answer within 5 s'],
])(
  'while a signer answers wrongly (%s), nothing is committed or sent, others go on, and the transaction lands once when it signs again',
  async (reply, reason) => {
    const [type, free] = [treasuryType(`held-${reply}`), transferType(`free-${reply}`)];
    const [held, other] = [newPayment(AMOUNT), newPayment(AMOUNT)];
    treasury.setReply(reply);
    await submitPayments(t.app, type, [held]);
    await runOnce(t.app, new Map([[type.name, type]]), [held]);
    expect(await errorOf(held)).toMatchObject({ state: 'queued', error: { name: 'Unavailable', message: expect.stringContaining(reason) } });
    expect(await attemptsOf([held])).toBe(0);

    await submitPayments(t.app, free, [other]);
    await runUntil(t.app, free, [other]);
    expect(await receivedLamports(t.app, other)).toBe(AMOUNT);
    expect(await receivedLamports(t.app, held)).toBe(0);

    treasury.setReply('signs');
    await t.app.tx((tx) => tx.query(makeDue, [[held]]));
    await runUntil(t.app, type, [held]);
    expect((await statesOf(t.app, [held])).get(held)).toBe('finalized');
    expect(await attemptsOf([held])).toBe(1);
    expect(await receivedLamports(t.app, held)).toBe(AMOUNT);
  },
  30_000,
);

test.each(['before', 'after'] as const)(
  'when a process is killed %s any operation, also between the answer of the signer and the commit, the payment is made once',
  async (when) => {
    const type = treasuryType(`killed-${when}`);
    const types = new Map([[type.name, type]]);
    let asked = 0;
    for (let [at, isKilled] = [1, true]; isKilled; at++) {
      const subject = newPayment(AMOUNT);
      await submitPayments(t.app, type, [subject]);
      const before = treasury.requests.length;
      isKilled = await runOnce(killableApp(t.app, at, when).app, types, [subject]).then(
        () => false,
        () => true,
      );
      if (treasury.requests.length > before && (await attemptsOf([subject])) === 0) asked++;
      await t.app.tx((tx) => tx.query(makeDue, [[subject]]));
      await runUntil(t.app, type, [subject]);
      await retryUntilPass(async () => expect(await receivedLamports(t.app, subject)).toBe(AMOUNT));
    }
    // The loop has killed the process after the answer of the signer and before the commit.
    expect(asked).toBeGreaterThan(0);
  },
  90_000,
);
