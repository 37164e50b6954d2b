import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair, NONCE_ACCOUNT_LENGTH, NonceAccount, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import { type App, AppStates } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import {
  type FailedTransaction,
  type LandedTransaction,
  pollPending,
  signAndSend,
  submit,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import { PATIENCE } from '../patience.ts';
import type { TestChain } from './chain.ts';

/** The arguments of all hook calls, in order. */
interface HookCalls {
  readonly confirmed: LandedTransaction[];
  readonly finalized: LandedTransaction[];
  readonly retracted: string[];
  readonly failed: FailedTransaction[];
  readonly overdue: string[];
}

const newHookCalls = (): HookCalls => ({ confirmed: [], finalized: [], retracted: [], failed: [], overdue: [] });

/** A transaction type that records its hook calls. */
export interface TestTransactionType extends TransactionType {
  readonly hookCalls: HookCalls;
}

/** A nonce account and its current value. */
export interface TestNonce {
  readonly account: string;
  readonly value: string;
}

/**
 * Creates a type that transfers lamports to an address. The subject is `<address>:<lamports>`. Nothing on the chain prevents a second
 * transfer, so the tests show that submission prevents it.
 * @param options.nonce returns a durable nonce to use in place of a blockhash
 * @param options.urgency urgency of the draft (0)
 * @param options.priority class of the transactions (payouts)
 */
export function transferType(
  name: string,
  options: { nonce?: (subject: string) => TestNonce; urgency?: number } & Partial<
    Pick<TransactionType, 'afterFailure' | 'priority' | 'failureDelayMs'>
  > = {},
): TestTransactionType {
  const hookCalls = newHookCalls();
  return {
    name,
    scope: name,
    priority: options.priority ?? 'payouts',
    afterFailure: options.afterFailure ?? 'again',
    ...(options.failureDelayMs ? { failureDelayMs: options.failureDelayMs } : {}),
    hookCalls,
    async compose(app, subject) {
      const [address = '', lamports = ''] = subject.split(':');
      const from = app.chain.key('feePayer').publicKey;
      const nonce = options.nonce?.(subject);
      return {
        do: 'sign',
        feePayer: 'feePayer',
        instructions: [SystemProgram.transfer({ fromPubkey: from, toPubkey: new PublicKey(address), lamports: BigInt(lamports) })],
        spends: [{ asset: 'sol', amount: BigInt(lamports) }],
        urgency: options.urgency ?? 0,
        ...(nonce ? { nonce: { account: new PublicKey(nonce.account), value: nonce.value } } : {}),
      };
    },
    confirmed: async (_tx, landed) => void hookCalls.confirmed.push(...landed),
    retracted: async (_tx, subjects) => void hookCalls.retracted.push(...subjects),
    finalized: async (_tx, landed) => void hookCalls.finalized.push(...landed),
    failed: async (_tx, failures) => void hookCalls.failed.push(...failures),
    overdue: async (_tx, subjects) => void hookCalls.overdue.push(...subjects),
  };
}

/** Opens a nonce account whose authority is the fee payer. */
export async function openNonce({ connection, keys: { feePayer }, control }: TestChain): Promise<TestNonce> {
  const seed = randomBytes(8).toString('hex');
  const account = await PublicKey.createWithSeed(feePayer.publicKey, seed, SystemProgram.programId);
  const create = SystemProgram.createNonceAccount({
    fromPubkey: feePayer.publicKey,
    noncePubkey: account,
    basePubkey: feePayer.publicKey,
    seed,
    authorizedPubkey: feePayer.publicKey,
    lamports: await connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH),
  });
  const { blockhash } = await connection.getLatestBlockhash();
  const transaction = new Transaction({ feePayer: feePayer.publicKey, recentBlockhash: blockhash }).add(create);
  transaction.sign(feePayer);
  await connection.sendRawTransaction(transaction.serialize());
  await control.finalized((await control.status()).slot + 1);
  const info = await connection.getAccountInfo(account, 'finalized');
  if (!info) throw new Error('the nonce account does not exist');
  return { account: account.toBase58(), value: NonceAccount.fromAccountData(info.data).nonce };
}

/** Returns the subject of a transfer to a new address. */
export const newPayment = (lamports = 2_000_000) => `${Keypair.generate().publicKey.toBase58()}:${lamports}`;

/** Returns the finalized balance of a subject's address, lamports. */
export async function receivedLamports(app: App, subject: string): Promise<number> {
  const [address = ''] = subject.split(':');
  return (await app.chain.node.account(new PublicKey(address), 'finalized')).account?.lamports ?? 0;
}

const states = statement<{ subject: string; state: string }>(
  'test_states',
  'select subject, state from chain_transactions where subject = any($1::text[])',
);
const due = statement<{ id: string }>(
  'test_due',
  `select id::text from chain_transactions where state = 'queued' and next_at <= app_now() and subject = any($1::text[])`,
);

/** Returns the states of transactions by subject. */
export async function statesOf(app: App, subjects: readonly string[]): Promise<Map<string, string>> {
  return new Map((await app.db.query(states, [subjects])).map(({ subject, state }) => [subject, state]));
}

/** Submits transactions of a type. */
export const submitPayments = (app: App, type: TransactionType, subjects: readonly string[]) => app.tx((tx) => submit(tx, type, subjects));

/** Signs the due transactions and polls once, as the workers do. */
export async function runOnce(app: App, types: ReadonlyMap<string, TransactionType>, subjects: readonly string[]): Promise<void> {
  await Promise.all((await app.db.query(due, [subjects])).map(({ id }) => signAndSend(app, types, id)));
  await pollPending(app, types);
}

/**
 * Calls `runOnce` until every subject has one of the states.
 * @throws after PATIENCE times `withinMs`, with the other states
 */
export async function runUntil(
  app: App,
  type: TransactionType,
  subjects: readonly string[],
  until: readonly string[] = ['finalized', 'failed'],
  withinMs = 15_000,
): Promise<void> {
  const types = new Map([[type.name, type]]);
  const end = performance.now() + PATIENCE * withinMs;
  for (;;) {
    await runOnce(app, types, subjects).catch(() => undefined);
    const now = await statesOf(app, subjects);
    if (subjects.every((subject) => until.includes(now.get(subject) ?? ''))) return;
    if (performance.now() > end)
      throw new Error(`still ${JSON.stringify([...now].filter(([, state]) => !until.includes(state)))} after ${PATIENCE * withinMs} ms`);
    await sleep(10);
  }
}

/** Thrown by a `KillableApp` at the operation at which it is killed, and at all later ones. */
export class Killed extends Error {}

/** An application that stops working after a number of operations: queries, RPC requests, commits, enqueued jobs. */
export interface KillableApp {
  readonly app: App;
  /** Number of operations started. */
  readonly operations: number;
}

/**
 * Wraps an application so that it stops working at an operation.
 * @param at number of the operation, counted from 1
 * @param when `after`: that operation still takes effect
 */
export function killableApp(app: App, at: number, when: 'before' | 'after'): KillableApp {
  let operations = 0;
  const step = async <T>(operation: () => Promise<T>): Promise<T> => {
    operations++;
    const mine = operations;
    if (mine > at || (mine === at && when === 'before')) throw new Killed();
    const result = await operation();
    if (mine === at || operations > at) throw new Killed();
    return result;
  };
  const stepping = <O extends object>(target: O): O =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        return typeof value === 'function' ? (...args: unknown[]) => step(async () => await Reflect.apply(value, of, args)) : value;
      },
    });
  // A database transaction is rolled back when an operation in it is killed, but not after its commit.
  const tx: App['tx'] = (work) => step(() => app.tx((inner) => work(within(inner))));
  const within = (inner: Tx): Tx => ({ ...inner, query: (statement, values) => step(() => inner.query(statement, values)) });
  const chain = Object.create(app.chain, { node: { value: stepping(app.chain.node) } });
  // Work that several jobs of an application share must also stop, so this application has batchers and caches of its own.
  const states = new AppStates();
  const killable: App = {
    ...app,
    ...{ tx, db: stepping(app.db), queues: { ...app.queues, add: (jobs) => step(() => app.queues.add(jobs)) }, chain },
    state: (slot) => states.get(killable, slot),
  };
  return {
    app: killable,
    get operations() {
      return operations;
    },
  };
}
