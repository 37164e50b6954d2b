import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Keypair, NONCE_ACCOUNT_LENGTH, NonceAccount, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';
import { nonceOf } from '#platform/solana/submission/sign.ts';
import { type Failure, type Landing, pollPending, signAndSend, submit, type TransactionType } from '#platform/solana/submission/transactions.ts';
import type { TestChain } from './chain.ts';

/** What the books of a test's kind were told. */
export interface Books {
  readonly confirmed: Landing[];
  readonly finalized: Landing[];
  readonly retracted: string[];
  readonly failed: Failure[];
  readonly overdue: string[];
}

const openBooks = (): Books => ({ confirmed: [], finalized: [], retracted: [], failed: [], overdue: [] });

/** A kind of transaction that tests land, and its books. */
export interface TestKind extends TransactionType {
  readonly books: Books;
}

/** Where the nonce account of a lane is, and the value that its next transaction uses. */
export interface TestNonce {
  readonly account: string;
  readonly value: string;
}

/**
 * Pays lamports to an address that nothing else pays to. Nothing on the chain keeps it from paying twice: only the
 * engine does. A subject is `<address>:<lamports>`.
 * @param options.nonce gives what is paid a durable nonce instead of a blockhash
 */
export function transfers(
  name: string,
  options: { nonce?: (subject: string) => TestNonce; afterFailure?: TransactionType['afterFailure'] } = {},
): TestKind {
  const books = openBooks();
  return {
    name,
    scope: name,
    afterFailure: options.afterFailure ?? 'again',
    books,
    async compose(app, subject) {
      const [address = '', lamports = ''] = subject.split(':');
      const from = app.chain.key('feePayer').publicKey;
      const nonce = options.nonce?.(subject);
      return {
        do: 'sign',
        feePayer: 'feePayer',
        instructions: [SystemProgram.transfer({ fromPubkey: from, toPubkey: new PublicKey(address), lamports: BigInt(lamports) })],
        spends: [{ asset: 'sol', amount: BigInt(lamports) }],
        ...(nonce ? { nonce: nonceOf(nonce.account, nonce.value) } : {}),
      };
    },
    confirmed: async (_tx, landings) => void books.confirmed.push(...landings),
    retracted: async (_tx, subjects) => void books.retracted.push(...subjects),
    finalized: async (_tx, landings) => void books.finalized.push(...landings),
    failed: async (_tx, failures) => void books.failed.push(...failures),
    overdue: async (_tx, subjects) => void books.overdue.push(...subjects),
  };
}

/** Opens a nonce account, with the fee payer as its authority. */
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
  if (!info) throw new Error('the nonce account was not made');
  return { account: account.toBase58(), value: NonceAccount.fromAccountData(info.data).nonce };
}

/** A payment to an address of its own. */
export const newPayment = (lamports = 2_000_000) => `${Keypair.generate().publicKey.toBase58()}:${lamports}`;

/** What an address has been paid, at finalized, lamports. */
export async function paid(app: App, subject: string): Promise<number> {
  const [address = ''] = subject.split(':');
  return await rpc(() => app.chain.connection.getBalance(new PublicKey(address), 'finalized'));
}

const states = statement<{ subject: string; state: string }>(
  'test_states',
  'select subject, state from chain_transactions where subject = any($1::text[])',
);
const due = statement<{ id: string }>(
  'test_due',
  `select id::text from chain_transactions where state = 'queued' and next_at <= app_now() and subject = any($1::text[])`,
);

/** Where transactions stand. */
export async function statesOf(app: App, subjects: readonly string[]): Promise<Map<string, string>> {
  return new Map((await app.db.query(states, [subjects])).map(({ subject, state }) => [subject, state]));
}

/** Asks for transactions of a kind. */
export const ask = (app: App, kind: TransactionType, subjects: readonly string[]) => app.tx((tx) => submit(tx, kind, subjects));

/** One turn of what the workers do. */
export async function turn(app: App, kinds: ReadonlyMap<string, TransactionType>, subjects: readonly string[]): Promise<void> {
  await Promise.all((await app.db.query(due, [subjects])).map(({ id }) => signAndSend(app, kinds, id)));
  await pollPending(app, kinds);
}

/**
 * Does what the workers do until every subject is where it should be.
 * @throws when that takes too long, saying where they are
 */
export async function drive(
  app: App,
  kind: TransactionType,
  subjects: readonly string[],
  until: readonly string[] = ['finalized', 'failed'],
  withinMs = 15_000,
): Promise<void> {
  const kinds = new Map([[kind.name, kind]]);
  const end = performance.now() + withinMs;
  for (;;) {
    await turn(app, kinds, subjects).catch(() => undefined);
    const now = await statesOf(app, subjects);
    if (subjects.every((subject) => until.includes(now.get(subject) ?? ''))) return;
    if (performance.now() > end)
      throw new Error(`still ${JSON.stringify([...now].filter(([, state]) => !until.includes(state)))} after ${withinMs} ms`);
    await sleep(10);
  }
}

/** What a process that is killed never gets past. */
export class Killed extends Error {}

/** An application that lives for so many operations: queries, questions to the chain, commits. */
export interface Mortal {
  readonly app: App;
  /** How many operations it has begun. */
  readonly operations: number;
}

/**
 * An application that is killed at its n-th operation, and does nothing after it.
 * @param at the operation that it does not survive; counted from 1
 * @param when whether that operation still takes effect
 */
export function mortal(app: App, at: number, when: 'before' | 'after'): Mortal {
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
  // A transaction of the dead is rolled back, unless it had been committed.
  const tx: App['tx'] = (work) => step(() => app.tx((inner) => work(within(inner))));
  const within = (inner: Tx): Tx => ({ ...inner, query: (statement, values) => step(() => inner.query(statement, values)) });
  const chain = Object.create(app.chain, { connection: { value: stepping(app.chain.connection) } });
  return {
    app: { ...app, tx, db: stepping(app.db), queues: { ...app.queues, add: (jobs) => step(() => app.queues.add(jobs)) }, chain },
    get operations() {
      return operations;
    },
  };
}
