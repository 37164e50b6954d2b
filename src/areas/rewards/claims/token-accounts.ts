import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type Outcome, outflowLeft, TOKEN_ACCOUNTS } from '#platform/solana/submission/transactions.ts';

/** What a wallet is told whose token account we do not open. */
export const OPEN_FIRST = 'open a token account first: the wallet has none for the reward token';

const selectOpened = statement<{ cause: string; over: boolean }>(
  'select_opened_token_account',
  `select o.cause::text, coalesce(c.state in ('claimed', 'failed'), true) as over from token_accounts_opened o left join claims c on c.id = o.cause
   where o.wallet = $1 and o.mint = $2`,
);
const insertOpened = statement<{ cause: string }>(
  'insert_opened_token_account',
  `insert into token_accounts_opened as o (wallet, mint, cause) select wallet, $2, id from claims where id = $1
   on conflict (wallet, mint) do update set cause = o.cause where o.cause = excluded.cause returning cause::text`,
);
const deleteOpened = statement('delete_opened_token_account', 'delete from token_accounts_opened where cause = $1');

const openFirst: Outcome = { do: 'fail', error: { name: 'NoDestination', message: OPEN_FIRST, instruction: null, code: null } };

/**
 * Whether a wallet's token account is opened at our cost for a claim: once per wallet and mint, for what is worth it, while the
 * day's budget lasts. Closing and opening accounts must not be a way to earn rent.
 * @returns what is to be done instead; null: it is opened
 */
export async function mayOpen(app: App, claim: { id: string; wallet: string; amount: bigint }, mint: string, rent: bigint): Promise<Outcome | null> {
  if (claim.amount < app.config.chain.tokenAccounts.minClaim) return openFirst;
  const opened = (await app.db.query(selectOpened, [claim.wallet, mint]))[0];
  if (opened && opened.cause !== claim.id) {
    return opened.over ? openFirst : { do: 'wait', ms: 1_000, reason: 'the token account is being opened for another claim of the wallet' };
  }
  return (await outflowLeft(app, TOKEN_ACCOUNTS)) < rent ? openFirst : null;
}

/** An attempt that opens a token account is about to leave. @throws where another claim of the wallet was first */
export async function recordOpening(tx: Tx, claimId: string, mint: string): Promise<void> {
  if ((await tx.query(insertOpened, [claimId, mint])).length === 0)
    throw fail(409, 'the token account is being opened for another claim of the wallet');
}

/** An attempt that opens none is about to leave: an earlier one that would have is dead. */
export async function forgetOpening(tx: Tx, claimId: string): Promise<void> {
  await tx.query(deleteOpened, [claimId]);
}
