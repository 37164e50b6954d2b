import { PublicKey, SystemProgram } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { pollPending, signAndSend, type TransactionType } from '#platform/solana/submission/index.ts';
import { type TestTransactionType, transferType } from './submission.ts';

/** Lamports that a guarded transaction spends besides its fee. */
export const GUARDED_LAMPORTS = 2_000_000;

const addressOf = (app: App, seed: string) => PublicKey.createWithSeed(app.chain.key('feePayer').publicKey, seed, SystemProgram.programId);

/** Creates a type whose transaction creates an account, so that the chain refuses a second effect. The subject is the seed of the account's address. */
export function guardedType(name: string, options: Partial<Pick<TransactionType, 'maxLive' | 'priority'>> = {}): TestTransactionType {
  return {
    ...transferType(name, { priority: options.priority ?? 'claims' }),
    maxLive: options.maxLive ?? 3,
    async compose(app, subject) {
      const payer = app.chain.key('feePayer').publicKey;
      const address = await addressOf(app, subject);
      const [final, confirmed] = [await app.chain.node.account(address, 'finalized'), await app.chain.node.account(address, 'confirmed')];
      if (final.account) return { do: 'done', signature: null, slot: final.slot };
      if (confirmed.account) return { do: 'wait', ms: 50, reason: 'the account is not finalized' };
      return {
        do: 'sign',
        feePayer: 'feePayer',
        instructions: [
          SystemProgram.createAccountWithSeed({
            ...{ fromPubkey: payer, basePubkey: payer, newAccountPubkey: address, seed: subject },
            ...{ lamports: GUARDED_LAMPORTS, space: 0, programId: SystemProgram.programId },
          }),
        ],
        spends: [{ asset: 'sol', amount: BigInt(GUARDED_LAMPORTS) }],
      };
    },
  };
}

/** Returns the finalized balance of the account of a guarded transaction, lamports. */
export const guardedLamports = async (app: App, subject: string): Promise<number> =>
  (await app.chain.node.account(await addressOf(app, subject), 'finalized')).account?.lamports ?? 0;

const open = statement<{ id: string }>(
  'test_open',
  `select id::text from chain_transactions where state in ('queued', 'live') and next_at <= app_now() and subject = any($1::text[])`,
);

/** Signs the due transactions, further attempts included, and polls once, as the workers do. */
export async function runWithFurther(app: App, types: ReadonlyMap<string, TransactionType>, subjects: readonly string[]): Promise<void> {
  await Promise.all((await app.db.query(open, [subjects])).map(({ id }) => signAndSend(app, types, id)));
  await pollPending(app, types);
}

const attempts = statement<{
  n: number;
  state: string;
  signature: string;
  price: number;
  place: number;
  spends: { asset: string; amount: string }[];
  fee: number;
}>(
  'test_attempts_of',
  `select a.n, a.state, a.signature, a.price::float8 as price, a.place, a.spends, a.fee::float8 as fee
   from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n`,
);
export const attemptsOf = (app: App, subject: string) => app.db.query(attempts, [subject]);

const outflows = statement<{ wrong: string }>(
  'test_wrong_outflows',
  `with spent as (
     select a.spend_day as day, s->>'asset' as asset, a.priority,
       sum(case when a.state = 'failed' then coalesce(a.fee, 0) else (s->>'amount')::numeric end) as amount
     from chain_attempts a, jsonb_array_elements(a.spends) s
     where a.state <> 'dead' and (a.state <> 'failed' or s->>'asset' = 'sol') group by 1, 2, 3)
   select format('%s: attempts %s, limit %s', asset, s.amount, o.reserved) as wrong from spent s full join chain_outflows o using (day, asset, priority)
   where coalesce(s.amount, 0) <> coalesce(o.reserved, 0)`,
);
/** Returns the daily outflows that differ from the amounts of the attempts; see the check `outflows` of the audit. */
export const wrongOutflows = async (app: App): Promise<string[]> => (await app.db.query(outflows)).map(({ wrong }) => wrong);
