import { statement } from '#platform/db/sql.ts';

/** Maximum payments per lane and currency that are considered for one batch. One Solana transaction has space for fewer payments. */
const MAX_CANDIDATES = 24;

interface CandidateRow {
  id: string;
  wallet: string;
  amount: string;
  giveUps: number;
  cause: { kind: string; id: string };
  /** Time from which the payment may be planned, seconds since 1970. */
  due: number;
}

export const selectCandidates = statement<CandidateRow>(
  'select_payout_candidates',
  `select id::text, wallet, amount::text, give_ups::int as "giveUps", json_build_object('kind', cause_kind, 'id', cause_id) as cause, extract(epoch from next_at)::float8 as due from payments
   where lane = $1 and currency = $2 and next_at <= (select app_now()) and state = 'pending' and payer = 'treasury'
   order by next_at, id limit ${MAX_CANDIDATES}`,
);

export const lockCandidates = statement<{ id: string }>(
  'lock_payout_candidates',
  `select id::text from payments where id = any($1::uuid[]) and state = 'pending' order by id for update skip locked`,
);

/** Locks the planning of one currency, so that concurrent batches together do not exceed the balance of the treasury. */
export const lockPlanning = statement('lock_payout_planning', `select pg_advisory_xact_lock(hashtext('coinop-payouts'), hashtext($1))`);

/** Sums the payments in the state `batched`. The balance that the RPC node returns still contains their amounts. */
export const selectInFlight = statement<{ amount: string }>(
  'select_payouts_in_flight',
  `select coalesce(sum(amount), 0)::text as amount from payments where currency = $1 and state = 'batched' and payer = 'treasury'`,
);

/**
 * Selects the wallets whose token account was opened, or is being opened, by a claim or a payout batch. `landed` is false while the payout batch that
 * opens the account is in flight.
 */
export const selectOpened = statement<{ wallet: string; landed: boolean }>(
  'select_accounts_opened_by_payouts',
  `select o.wallet, coalesce(b.state = 'paid', true) as landed from token_accounts_opened o left join payout_batches b on b.id = o.cause
   where o.wallet = any($1::text[]) and o.mint = $2`,
);

/** Records the token accounts that a batch opens. Returns only the wallets for which no record existed before. */
export const recordOpenings = statement<{ wallet: string }>(
  'record_openings_by_payouts',
  `insert into token_accounts_opened (wallet, mint, cause) select w, $2, $3::uuid from unnest($1::text[]) as w order by w
   on conflict do nothing returning wallet`,
);

export const insertMembers = statement(
  'insert_payout_members',
  `with batched as (
     update payments set state = 'batched', reason = null, changed_at = app_now() where id = any($2::uuid[]))
   insert into payout_batch_members (batch, position, payment, opens)
   select $1, m.position - 1, m.payment, m.opens from unnest($2::uuid[], $3::boolean[]) with ordinality as m(payment, opens, position)`,
);

export const delayPayments = statement(
  'delay_payments',
  `update payments set next_at = app_now() + make_interval(secs => $2::float8 / 1000), reason = $3,
     changed_at = case when reason is distinct from $3 then app_now() else changed_at end
   where id = any($1::uuid[]) and state = 'pending'`,
);
