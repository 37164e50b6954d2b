import { createHash } from 'node:crypto';
import { stringify } from 'uuid';
import { planPayouts } from '#jobs/payouts.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Currency } from './payments.ts';

/** Something that is owed to a wallet, and why. */
export interface Debt {
  readonly wallet: string;
  readonly currency: Currency;
  /** Base units, 1 to 2^64 − 1. */
  readonly amount: bigint;
  /** What it is owed for: `{ kind: 'prize', id: '<round>:<place>' }`. Nothing is owed twice for one cause. */
  readonly cause: { readonly kind: string; readonly id: string };
}

/** A debt as a payment. `created` is false where it had been owed before. */
export interface Owed {
  readonly id: string;
  readonly created: boolean;
}

/**
 * The id of the payment for a cause: sha256("coinop/payment/1" LF kind LF id), 16 bytes of it, as a UUID of version 8.
 * It follows from the cause alone, so that a debt that was lost with a restored database and is owed again is the same payment.
 */
export function paymentId({ kind, id }: Debt['cause']): string {
  return stringify(idBytes(kind, id));
}

function idBytes(kind: string, id: string): Buffer {
  const bytes = createHash('sha256').update(`coinop/payment/1\n${kind}\n${id}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes;
}

// By id, as every writer of many payments locks them.
const insert = statement<{ id: string }>(
  'insert_payments',
  `insert into payments (id, wallet, currency, amount, cause_kind, cause_id, payer, lane)
   select d.id, d.wallet, d.currency, d.amount, d.kind, d.cause, d.payer, case d.payer when 'treasury' then d.lane end
   from unnest($1::uuid[], $2::text[], $3::text[], $4::numeric[], $5::text[], $6::text[], $7::text[], $8::smallint[])
     as d(id, wallet, currency, amount, kind, cause, payer, lane)
   order by d.id on conflict do nothing returning id::text`,
);
const otherTerms = statement<{ id: string }>(
  'find_payments_of_other_terms',
  `select d.id::text from unnest($1::uuid[], $2::text[], $3::text[], $4::numeric[]) as d(id, wallet, currency, amount)
   left join payments p on p.id = d.id where (p.wallet, p.currency, p.amount) is distinct from (d.wallet, d.currency, d.amount) limit 1`,
);

const isKind = (kind: string) => /^[a-z][a-z0-9-]{0,31}$/.test(kind);
const isCause = (id: string) => /^[\x21-\x7e]{1,128}$/.test(id);

/**
 * Writes down what is owed, and has it paid after this transaction's commit. Each cause is owed once, however often and
 * from wherever this is called.
 * @returns one entry per debt, in their order
 * @throws 409 where a cause is owed already with another wallet, currency or amount
 */
export async function owe({ config }: Pick<App, 'config'>, tx: Tx, debts: readonly Debt[]): Promise<Owed[]> {
  if (debts.length === 0) return [];
  const malformed = debts.find(({ cause }) => !isKind(cause.kind) || !isCause(cause.id));
  if (malformed) throw new Error(`not a cause of a payment: ${malformed.cause.kind} ${malformed.cause.id}`);
  const { usdcPayer, payouts } = config.chain;
  const ids = debts.map(({ cause }) => paymentId(cause));
  const terms = [ids, debts.map((debt) => debt.wallet), debts.map((debt) => debt.currency), debts.map((debt) => String(debt.amount))];
  const payers = debts.map(({ currency }) => (currency === 'usdc' ? usdcPayer : 'treasury'));
  const rows = await tx.query(insert, [
    ...terms,
    debts.map(({ cause }) => cause.kind),
    debts.map(({ cause }) => cause.id),
    payers,
    debts.map(({ cause }) => idBytes(cause.kind, cause.id).readUInt32BE(0) % payouts.lanes),
  ]);
  const wrong = (await tx.query(otherTerms, terms))[0];
  if (wrong) throw fail(409, `payment ${wrong.id} is owed for the same cause already, with another wallet, currency or amount`);
  const created = new Set(rows.map(({ id }) => id));
  if (ids.some((id, i) => created.has(id) && payers[i] === 'treasury')) tx.enqueue(planPayouts, {});
  return ids.map((id) => ({ id, created: created.has(id) }));
}
