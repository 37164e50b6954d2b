import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type ComposeOutcome, outflowLeft, TOKEN_ACCOUNTS } from '#platform/solana/submission/index.ts';

/** The reason of a claim that fails because the service does not open the wallet's token account. */
export const OPEN_FIRST = 'the wallet must open a token account for the reward token first';

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
const deleteOpened = statement('delete_opened_token_accounts', 'delete from token_accounts_opened where cause = any($1::uuid[])');

const selectHistory = statement<{ days: number; scores: number }>(
  'select_history_of_wallet',
  `select count(distinct day)::int as days, count(*)::int as scores from scores where wallet = $1 and status = 'accepted'`,
);

/** Returns whether a wallet has enough accepted scores, on enough days, that the service pays for its token account. */
async function hasHistory(app: App, wallet: string): Promise<boolean> {
  const { minDays, minScores } = app.config.chain.tokenAccounts;
  if (minDays === 0 && minScores === 0) return true;
  const { days, scores } = (await app.db.query(selectHistory, [wallet]))[0] ?? { days: 0, scores: 0 };
  return days >= minDays && scores >= minScores;
}

const openFirst: ComposeOutcome = { do: 'fail', error: { name: 'NoDestination', message: OPEN_FIRST, instruction: null, code: null } };

/**
 * Decides whether the service opens a wallet's token account and pays its rent. The claim must have at least the minimum amount, the wallet must have
 * a history of scores, so that new wallets without scores cost nothing, and the daily budget must cover the rent. The service opens only one account per wallet and mint, because otherwise a wallet could close its account repeatedly to
 * collect the rent.
 * @returns null when the service may open the account; otherwise the outcome with which the claim waits or fails
 */
export async function checkOpening(
  app: App,
  claim: { id: string; wallet: string; amount: bigint },
  mint: string,
  rent: bigint,
): Promise<ComposeOutcome | null> {
  if (claim.amount < app.config.chain.tokenAccounts.minClaim || !(await hasHistory(app, claim.wallet))) return openFirst;
  const opened = (await app.db.query(selectOpened, [claim.wallet, mint]))[0];
  if (opened && opened.cause !== claim.id) {
    return opened.over ? openFirst : { do: 'wait', ms: 1_000, reason: 'another claim of the wallet is opening the token account' };
  }
  return (await outflowLeft(app, TOKEN_ACCOUNTS, 'claims')) < rent ? openFirst : null;
}

/**
 * Records that a claim opens the wallet's token account. Must be called before the claim is sent.
 * @throws 409 when another claim opens the same token account
 */
export async function recordOpening(tx: Tx, claimId: string, mint: string): Promise<void> {
  if ((await tx.query(insertOpened, [claimId, mint])).length === 0) throw fail(409, 'another claim of the wallet is opening the token account');
}

/**
 * Deletes the rows that earlier attempts of claims stored with `recordOpening`. Precondition: the earlier attempts have expired, so they can no longer open
 * the token accounts.
 */
export async function deleteOpenings(tx: Tx, claimIds: readonly string[]): Promise<void> {
  await tx.query(deleteOpened, [claimIds]);
}
