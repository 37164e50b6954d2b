import { createHash } from 'node:crypto';
import { stringify } from 'uuid';
import { planPayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Currency } from './payments.ts';

/** A request to pay an amount to a wallet. */
export interface PaymentRequest {
  readonly wallet: string;
  readonly currency: Currency;
  /** Amount in base units, 1 to 2^64 − 1. */
  readonly amount: bigint;
  /** The event that causes the payment, such as `{ kind: 'prize', id: '<round>:<place>' }`. There is at most one payment per event. */
  readonly cause: { readonly kind: string; readonly id: string };
}

/** The payment for the cause of a request. `created` is false when the payment existed before the request. */
export interface CreatedPayment {
  readonly id: string;
  readonly created: boolean;
}

/**
 * Returns the id of the payment for a cause: the first 16 bytes of sha256("coinop/payment/1" LF kind LF id), as a UUID of version 8. If a database
 * restore loses a payment, the payment gets the same id when it is created again.
 */
export function paymentId({ kind, id }: PaymentRequest['cause']): string {
  return stringify(idBytes(kind, id));
}

function idBytes(kind: string, id: string): Buffer {
  const bytes = createHash('sha256').update(`coinop/payment/1\n${kind}\n${id}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes;
}

// Inserts the payments in the order of their ids. Every statement that locks several payments uses this order, so two statements cannot deadlock.
const insert = statement<{ id: string }>(
  'insert_payments',
  `insert into payments (id, wallet, currency, amount, cause_kind, cause_id, payer, lane)
   select d.id, d.wallet, d.currency, d.amount, d.kind, d.cause, d.payer, case d.payer when 'treasury' then d.lane end
   from unnest($1::uuid[], $2::text[], $3::text[], $4::numeric[], $5::text[], $6::text[], $7::text[], $8::smallint[])
     as d(id, wallet, currency, amount, kind, cause, payer, lane)
   order by d.id on conflict do nothing returning id::text`,
);
const findConflicting = statement<{ id: string }>(
  'find_conflicting_payment',
  `select d.id::text from unnest($1::uuid[], $2::text[], $3::text[], $4::numeric[]) as d(id, wallet, currency, amount)
   left join payments p on p.id = d.id where (p.wallet, p.currency, p.amount) is distinct from (d.wallet, d.currency, d.amount) limit 1`,
);

const isKind = (kind: string) => /^[a-z][a-z0-9-]{0,31}$/.test(kind);
const isCause = (id: string) => /^[\x21-\x7e]{1,128}$/.test(id);

/**
 * Inserts payments and, after the commit, enqueues the planning of their batches. Idempotent: each cause gets at most one payment.
 * @returns one entry per request, in the order of the requests
 * @throws 409 when the payment for a cause exists already and has a different wallet, currency or amount
 */
export async function createPayments({ config }: Pick<App, 'config'>, tx: Tx, requests: readonly PaymentRequest[]): Promise<CreatedPayment[]> {
  if (requests.length === 0) return [];
  const malformed = requests.find(({ cause }) => !isKind(cause.kind) || !isCause(cause.id));
  if (malformed) throw new Error(`the cause of a payment must have a valid kind and id, not: ${malformed.cause.kind} ${malformed.cause.id}`);
  const { usdcPayer, payouts } = config.chain;
  const ids = requests.map(({ cause }) => paymentId(cause));
  const terms = [ids, requests.map(({ wallet }) => wallet), requests.map(({ currency }) => currency), requests.map(({ amount }) => String(amount))];
  const payers = requests.map(({ currency }) => (currency === 'usdc' ? usdcPayer : 'treasury'));
  const rows = await tx.query(insert, [
    ...terms,
    requests.map(({ cause }) => cause.kind),
    requests.map(({ cause }) => cause.id),
    payers,
    requests.map(({ cause }) => idBytes(cause.kind, cause.id).readUInt32BE(0) % payouts.lanes),
  ]);
  const conflicting = (await tx.query(findConflicting, terms))[0];
  if (conflicting) throw fail(409, `payment ${conflicting.id} exists for the same cause, but with another wallet, currency or amount`);
  const created = new Set(rows.map(({ id }) => id));
  if (ids.some((id, i) => created.has(id) && payers[i] === 'treasury')) tx.enqueue(planPayouts, {});
  return ids.map((id) => ({ id, created: created.has(id) }));
}
