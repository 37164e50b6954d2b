import { ChainAttemptsTable, ChainPausesTable, ChainTransactionsTable } from '#platform/db/entities.ts';
import { queryBuilder } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Priority, Rank, ToSign } from './priorities.ts';
import type { ChainError, Spend } from './transaction-type.ts';

/** Builds queries for the tables of this folder. */
export const build = queryBuilder([ChainTransactionsTable, ChainAttemptsTable, ChainPausesTable]);

/** The columns of `chain_transactions` that the signer reads. */
export interface TransactionRow extends Rank {
  id: string;
  type: string;
  subject: string;
  state: 'queued' | 'live' | 'confirmed' | 'finalized' | 'failed' | 'manual';
  attempts: number;
  tries: number;
  due: boolean;
  /** The time at which the lease of this worker ends, for a type that can carry other transactions; null for other types. */
  lease: string | null;
}

/** A pending attempt, with the type and subject of its transaction. */
export interface PendingAttempt extends Rank {
  id: string;
  n: number;
  type: string;
  subject: string;
  manual: boolean;
  refusals: number;
  state: 'signed' | 'sent' | 'confirmed';
  /** Whether an attempt of the transaction is confirmed or finalized, so that the others must not be sent again. */
  landed: boolean;
  /** Whether this is the newest attempt of a transaction whose next attempt may be signed while this one is live. */
  newest: boolean;
  signature: string;
  last_valid_height: number | null;
  nonce_account: string | null;
  nonce: string | null;
  signed_slot: number;
  preamble: number;
  sent_slot: number | null;
  slot: number | null;
  /** Time since the attempt was signed, ms. */
  age: number;
  /** Time since the last expiry check of the attempt, ms; null = never checked. */
  checked_age: number | null;
  /** Time since the attempt was first found expired, ms; null when the last expiry check did not find it expired. */
  expired_age: number | null;
  /** The amounts that the attempt has reserved against the daily limits. */
  spends: StoredSpend[];
  /** The amounts that the attempt spends if it lands; null for an attempt of a release that stored only `spends`. */
  costs: StoredSpend[] | null;
  /** Fee, lamports. The spend of `sol` contains it. Null for an attempt that was signed by a release that did not store the fee. */
  fee: string | null;
  spend_day: number;
  /** Ids of further transactions whose effects the attempt has too. */
  carried: string[];
}

/** A spend in the database. The amount is text, because JSON numbers lose precision above 2^53. */
export interface StoredSpend {
  asset: string;
  amount: string;
}

/** Returns spends as the database stores them. */
export const toStored = (spends: readonly Spend[]): StoredSpend[] => spends.map(({ asset, amount }) => ({ asset, amount: String(amount) }));
/** Serializes spends for the database. */
export const storedSpends = (spends: readonly Spend[]): string => JSON.stringify(toStored(spends));
export const readSpends = (stored: readonly StoredSpend[]): Spend[] => stored.map(({ asset, amount }) => ({ asset, amount: BigInt(amount) }));

const COLUMNS = 'id::text, kind as type, subject, state, attempts, tries, next_at <= (select app_now()) as due, priority, rank, null::text as lease';

export const selectTransactions = statement<TransactionRow>(
  'select_chain_transactions',
  `select ${COLUMNS} from chain_transactions where id = any($1::uuid[])`,
);

/**
 * Locks transactions before their next attempts are stored: those that are still in the state $4, which is `queued`, or `live` for a further attempt. Leaves
 * out a transaction that another worker has locked or has signed already, or whose lease ($3) has ended and which another worker has leased.
 */
export const lockToSign = statement<{ id: string }>(
  'lock_chain_transaction',
  `select t.id::text from unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::text[]) as v(id, attempts, lease, state) join chain_transactions t on t.id = v.id
   where t.state = v.state and t.attempts = v.attempts and (v.lease is null or t.next_at = v.lease) order by t.id for update of t skip locked`,
);

/**
 * SQL condition: an attempt is pending, for statements that select attempts by their signature or transaction. It names the ended states. If it named the
 * pending states, PostgreSQL could choose the index of pending attempts, and would read this whole index for each attempt.
 * @param attempt the alias of `chain_attempts`
 */
export const isPending = (attempt: string): string => `${attempt}.state not in ('finalized', 'failed', 'dead')`;

/** A new attempt, as `insertAttempts` takes it. `bytes`: base64. `places`: the maximum number of live attempts of the transaction. */
export interface NewAttempt {
  readonly id: string;
  readonly n: number;
  readonly signature: string;
  readonly bytes: string;
  readonly signers: readonly string[];
  readonly last_valid_height: number | null;
  readonly nonce_account: string | null;
  readonly nonce: string | null;
  readonly signed_slot: number;
  readonly spends: readonly StoredSpend[];
  readonly spend_day: number;
  readonly preamble: number;
  readonly fee: string;
  readonly priority: Priority;
  readonly carried: readonly string[];
  readonly price: number;
  readonly costs: readonly StoredSpend[];
  readonly places: number;
}

/** Stores new attempts, which are a JSON array of `NewAttempt`, and makes their transactions live. Precondition: the transactions are locked. */
export const insertAttempts = statement(
  'insert_chain_attempts',
  `with v as materialized (
     select * from jsonb_to_recordset($1::jsonb) as v(id uuid, n int, signature text, bytes text, signers text[], last_valid_height int8, nonce_account text,
       nonce text, signed_slot int8, spends jsonb, spend_day int, preamble smallint, fee int8, priority text, carried uuid[], price int8, costs jsonb, places int)),
   live as (
     update chain_transactions t set state = 'live', attempts = v.n, tries = 0, changed_at = app_now() from v where t.id = v.id)
   insert into chain_attempts (transaction_id, n, signature, bytes, signers, last_valid_height, nonce_account, nonce, signed_slot, spends, spend_day, preamble,
     fee, priority, carried, price, costs, place)
   select v.id, v.n, v.signature, decode(v.bytes, 'base64'), v.signers, v.last_valid_height, v.nonce_account, v.nonce, v.signed_slot, v.spends, v.spend_day,
     v.preamble, v.fee, v.priority, v.carried, v.price, v.costs,
     (select min(p) from generate_series(1, v.places) as p where not exists (
        select from chain_attempts l where l.transaction_id = v.id and l.place = p and ${isPending('l')}))
   from v`,
);

export const selectBytes = statement<{ signature: string; bytes: Buffer }>(
  'select_attempt_bytes',
  `select signature, bytes from chain_attempts a where signature = any($1::text[]) and ${isPending('a')}`,
);

/**
 * Marks attempts as sent. Skips an attempt that another transaction has locked, so that batches do not deadlock; such an attempt is sent once more by the next
 * poll if the RPC node does not know it.
 */
export const markSent = statement(
  'mark_attempts_sent',
  `with l as (
     select transaction_id, n from chain_attempts a where signature = any($1::text[]) and ${isPending('a')}
     order by transaction_id, n for update skip locked)
   update chain_attempts a set state = case when a.state = 'signed' then 'sent' else a.state end, sent_slot = greatest(a.sent_slot, $2::int8)
   from l where a.transaction_id = l.transaction_id and a.n = l.n`,
);

export const postpone = statement(
  'postpone_chain_transaction',
  `update chain_transactions set tries = $4::int, next_at = app_now() + make_interval(secs => $2::float8 / 1000), error = $3::jsonb, changed_at = app_now()
   where id = $1 and state = 'queued'`,
);

/**
 * Sets the state of a queued transaction without signing an attempt. The new state is finalized, failed or manual. Precondition: the transaction has
 * no pending attempt.
 */
export const settleQueued = statement<{ subject: string }>(
  'settle_chain_transaction',
  `update chain_transactions set state = $2, signature = coalesce($3, signature), slot = coalesce($4::int8, slot), error = $5::jsonb, changed_at = app_now()
   where id = $1 and state = 'queued' returning subject`,
);

/** Selects queued transactions that are due, because their job was lost or their retry delay has passed. */
export const selectDueTransactions = statement<ToSign>(
  'select_due_transactions',
  `select id::text, priority, rank from chain_transactions
   where state = 'queued' and priority = $2 and next_at <= (select app_now()) order by next_at limit $1`,
);

/** SQL: the time since an instant, ms. The subquery makes PostgreSQL call `app_now()` once per statement, not once per row. */
const msSince = (instant: string): string => `extract(epoch from (select app_now()) - ${instant})::float8 * 1000`;

/**
 * Selects the pending attempts of a class whose next poll is due. If a slot ($3) is given, leaves out the confirmed attempts that landed after this slot.
 */
export const selectPending = statement<PendingAttempt>(
  'select_pending_attempts',
  `select a.transaction_id::text as id, a.n, t.kind as type, t.subject, t.state = 'manual' as manual, t.refusals, a.state, a.signature,
     t.state in ('confirmed', 'finalized') as landed, t.state = 'live' and a.n = t.attempts and t.next_at <= (select app_now()) as newest,
     a.last_valid_height::float8 as last_valid_height, a.nonce_account, a.nonce, a.signed_slot::float8 as signed_slot,
     a.sent_slot::float8 as sent_slot, a.slot::float8 as slot,
     ${msSince('a.signed_at')} as age, ${msSince('a.looked_at')} as checked_age, ${msSince('a.doubted_at')} as expired_age,
     a.spends, a.costs, a.fee::text, a.spend_day, a.preamble, a.priority, t.rank, a.carried::text[] as carried
   from chain_attempts a join chain_transactions t on t.id = a.transaction_id
   where a.state in ('signed', 'sent', 'confirmed') and a.priority = $2 and a.poll_at <= (select app_now())
     and ($3::int8 is null or a.state <> 'confirmed' or a.slot <= $3::int8)
   order by a.poll_at limit $1`,
);

/** SQL that joins and locks the attempts of `v`. All processes lock attempts in the same order, so that they do not deadlock. */
const LOCK_ATTEMPTS = 'join chain_attempts l on l.transaction_id = v.id and l.n = v.n order by l.transaction_id, l.n for update of l';

export const recordExpiryChecks = statement(
  'record_expiry_checks',
  `with v as (
     select v.* from unnest($1::uuid[], $2::int[], $3::jsonb[]) as v(id, n, evidence) ${LOCK_ATTEMPTS})
   update chain_attempts a
   set looked_at = app_now(), doubt = v.evidence, doubted_at = case when v.evidence is null then null else coalesce(a.doubted_at, app_now()) end
   from v where a.transaction_id = v.id and a.n = v.n and ${isPending('a')}`,
);

/** Postpones the next poll of attempts by the given times, ms. */
export const postponePolls = statement(
  'postpone_polls_of_attempts',
  `with v as (
     select v.* from unnest($1::uuid[], $2::int[], $3::float8[]) as v(id, n, delay_ms) ${LOCK_ATTEMPTS})
   update chain_attempts a set poll_at = app_now() + make_interval(secs => v.delay_ms / 1000) from v where a.transaction_id = v.id and a.n = v.n`,
);

/** Marks transactions with a pending attempt for an operator. */
export const markManual = statement(
  'mark_transactions_manual',
  `with v as (
     select v.* from unnest($1::uuid[], $2::jsonb[]) as v(id, error) join chain_transactions l on l.id = v.id order by l.id for update of l)
   update chain_transactions t set state = 'manual', error = v.error, changed_at = app_now() from v where t.id = v.id and t.state in ('live', 'confirmed')`,
);

/** Serializes an error for the database. */
export const storedError = (error: ChainError): string => JSON.stringify(error);

/** Time after the signing for which the signed bytes of an ended attempt stay stored, days. */
const BYTES_KEPT_DAYS = 30;
/** Maximum attempts whose bytes one call deletes. */
const MAX_PURGED = 1_000;

const purgeBytes = statement<{ count: number }>(
  'purge_attempt_bytes',
  `with due as (
     select transaction_id, n from chain_attempts
     where state in ('finalized', 'failed', 'dead') and bytes <> '' and signed_at < (select app_now()) - interval '${BYTES_KEPT_DAYS} days'
     order by signed_at limit ${MAX_PURGED} for update skip locked),
   emptied as (
     update chain_attempts a set bytes = '' from due d where a.transaction_id = d.transaction_id and a.n = d.n returning 1)
   select count(*)::int as count from emptied`,
);

/**
 * Deletes the signed bytes of a batch of old attempts that are finalized, failed or dead. Only live attempts are sent again, so no process needs these bytes.
 * Keeps the rows: the signature of an attempt is the evidence of a payment.
 * @returns whether more bytes may be left
 */
export async function purgeAttemptBytes(tx: Tx): Promise<boolean> {
  return ((await tx.query(purgeBytes))[0]?.count ?? 0) === MAX_PURGED;
}
